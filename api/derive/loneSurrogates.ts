import type { Fault } from '../../schemas/errors.ts';
import { escapePointer } from '../../schemas/formats/pointer.ts';

/**
 * The strings within a JSON value that cannot become bytes, names of fields included: JSON can spell half a surrogate
 * pair (`"\ud800"`), UTF-8 cannot, and an encoder would put U+FFFD in its place without a word.
 */
export function loneSurrogates(value: object): Fault[] {
  const faults: Fault[] = [];
  // A list instead of recursion: whatever fits into a body may be nested.
  const found: [pointer: string, value: object][] = [['', value]];
  for (const [outer, inner] of found)
    for (const [name, item] of Object.entries(inner)) {
      const pointer = `${outer}/${escapePointer(name)}`;
      if (!name.isWellFormed() || (typeof item === 'string' && !item.isWellFormed()))
        faults.push({ pointer, message: 'holds a lone surrogate, which UTF-8 cannot carry' });
      if (typeof item === 'object' && item !== null) found.push([pointer, item]);
    }
  return faults;
}
