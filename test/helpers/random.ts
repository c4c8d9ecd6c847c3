import { randomInt } from 'node:crypto';

/** A deterministic source of random numbers: the same seed gives the same numbers. */
export interface Random {
  /** Returns an integer from min to max, both inclusive. */
  integer(min: number, max: number): number;
  pick<T>(items: readonly T[]): T;
  bytes(length: number): Buffer;
  /** Returns well-formed text with this many code points of one to four UTF-8 bytes each, never U+0000. */
  text(codePoints: number): string;
}

/** Marsaglia's xorshift32 random number generator (2003). */
function* xorshift(seed: number): Generator<number, never> {
  let state = seed | 0 || 1;
  for (;;) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    yield state >>> 0;
  }
}

const RANGES = [
  [0x01, 0x7f],
  [0x80, 0x7ff],
  [0x800, 0xd7ff],
  [0xe000, 0xffff],
  [0x10000, 0x10ffff],
] as const;

/** Random test data from a given seed. */
export function createRandom(seed: number): Random {
  const numbers = xorshift(seed);
  const integer = (min: number, max: number): number => min + (numbers.next().value % (max - min + 1));
  const pick = <T>(items: readonly T[]): T => {
    const item = items.at(integer(0, items.length - 1));
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  };
  return {
    integer,
    pick,
    bytes: (length) => Buffer.from(Array.from({ length }, () => integer(0, 255))),
    text(codePoints) {
      const points = Array.from({ length: codePoints }, () => pick(RANGES)).map(([min, max]) =>
        integer(min, max),
      );
      return String.fromCodePoint(...points);
    },
  };
}

/**
 * Random test data from the seed TEST_SEED, or from a new seed without it. The seed is logged, so that
 * `TEST_SEED=<seed>` reproduces the same data.
 *
 * @param log `t.log` of the test
 * @throws RangeError when TEST_SEED is not an integer from 1 to 2^31
 */
export function seededRandom(log: (line: string) => void): Random {
  const seed = Number(process.env.TEST_SEED ?? randomInt(1, 2 ** 31));
  if (!Number.isInteger(seed) || seed < 1 || seed > 2 ** 31) throw new RangeError('TEST_SEED is not a seed');
  log(`TEST_SEED=${seed}`);
  return createRandom(seed);
}
