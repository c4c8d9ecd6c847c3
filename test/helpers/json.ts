import { isRecord } from '../../schemas/isRecord.ts';

export { isRecord };

export type Json = Record<string, unknown>;

/** Returns the object at the end of the keys, or an empty object. */
export function recordAt(value: unknown, ...keys: string[]): Json {
  const found = keys.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), value);
  return isRecord(found) ? found : {};
}

/** Returns the objects of a list, or an empty list. */
export const recordsAt = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isRecord) : []);
