/** A valid floating-point number of the HTML standard (2.3.4.3), and so what a field for numbers may send. */
const VALID = /^-?(\d+|\d*\.\d+)(e[+-]?\d+)?$/i;

/** The number that a field for numbers holds; NaN for what is none, or none that there is. */
export function fieldNumber(text: string): number {
  const number = VALID.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : Number.NaN;
}
