/** What a feed says about one symbol. */
export interface Reading {
  /** A decimal number. */
  value: string;
  publishedAt: Date;
}

/** By symbol; what a feed does not say, or says in a form that cannot be right, is left out. */
export type Readings = ReadonlyMap<string, Reading>;

/** Beyond these bounds a price or rate is a fault of its source, whatever it was before. */
const MIN = 1e-6;
const MAX = 1e9;

/** A positive number of a size that money has. */
export const isAmount = (value: unknown): value is number =>
  typeof value === 'number' && value >= MIN && value <= MAX;
