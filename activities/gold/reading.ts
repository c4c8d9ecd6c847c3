/** Value of one symbol as published by a feed. */
export interface Reading {
  /** A decimal number. */
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
