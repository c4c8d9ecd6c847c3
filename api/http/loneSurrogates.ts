import type { Fault } from '../../schemas/errors.ts';
import { escapePointer } from '../../schemas/formats/pointer.ts';

const isLone = (name: string, item: unknown): boolean =>
  !name.isWellFormed() || (typeof item === 'string' && !item.isWellFormed());

/**
 * The strings within a JSON value that UTF-8 cannot carry, names of fields included: JSON can spell half a surrogate
 * pair (`"\ud800"`), and an encoder would silently put U+FFFD in its place.
 */
export function loneSurrogates(value: object): Fault[] {
  const faults: Fault[] = [];
  // A list instead of recursion: the depth of a body is not this function's to bound.
  const found: [pointer: string, value: object][] = [['', value]];
  for (const [outer, inner] of found)
    for (const [name, item] of Object.entries(inner)) {
      const isObject = typeof item === 'object' && item !== null;
      const lone = isLone(name, item);
      if (!isObject && !lone) continue;
      const pointer = `${outer}/${escapePointer(name)}`;
      if (lone) faults.push({ pointer, message: 'holds a lone surrogate, which UTF-8 cannot carry' });
      if (isObject) found.push([pointer, item]);
    }
  return faults;
}
