/** Whether a value is an object with fields, as JSON has it; false for arrays and null. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
