/** The value of one symbol (a metal or currency), as a feed published it. */
export interface Reading {
  /** A decimal number as text. */
  value: string;
  publishedAt: Date;
}

/** Readings by symbol, without symbols that are missing or invalid in the feed. */
export type Readings = ReadonlyMap<string, Reading>;

/** Prices and rates outside these bounds are invalid. */
const MIN = 1e-6;
const MAX = 1e9;

/** Whether a value is a plausible price or rate. */
export const isAmount = (value: unknown): value is number =>
  typeof value === 'number' && value >= MIN && value <= MAX;
