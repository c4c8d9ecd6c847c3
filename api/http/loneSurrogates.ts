import type { Fault } from '../../schemas/errors.ts';
import { escapePointer } from '../../schemas/formats/pointer.ts';

const isLone = (name: string, item: unknown): boolean =>
  !name.isWellFormed() || (typeof item === 'string' && !item.isWellFormed());

/**
 * Finds strings and field names with lone surrogates in a JSON value. JSON can escape half of a surrogate pair
 * (`"\ud800"`), which has no UTF-8 encoding; an encoder would silently replace it with U+FFFD.
 */
export function loneSurrogates(value: object): Fault[] {
  const faults: Fault[] = [];
  // A queue instead of recursion, because this function must work for values of any depth.
  const found: [pointer: string, value: object][] = [['', value]];
  for (const [outer, inner] of found)
    for (const [name, item] of Object.entries(inner)) {
      const isObject = typeof item === 'object' && item !== null;
      const lone = isLone(name, item);
      if (!isObject && !lone) continue;
      const pointer = `${outer}/${escapePointer(name)}`;
      if (lone) faults.push({ pointer, message: 'contains a lone surrogate, which UTF-8 cannot encode' });
      if (isObject) found.push([pointer, item]);
    }
  return faults;
}
