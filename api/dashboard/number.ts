/** A valid floating-point number of the HTML Standard (2.3.4.3), the format of number fields. */
const VALID = /^-?(\d+|\d*\.\d+)(e[+-]?\d+)?$/i;

/** The value of a number field; NaN when it is invalid or not finite. */
export function fieldNumber(text: string): number {
  const number = VALID.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : Number.NaN;
}
