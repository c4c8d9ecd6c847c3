import { isRecord } from '../../schemas/isRecord.ts';

export { isRecord };

export type Json = Record<string, unknown>;

/** Returns the object at this path of keys, or an empty object if there is none. */
export function recordAt(value: unknown, ...keys: string[]): Json {
  const found = keys.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), value);
  return isRecord(found) ? found : {};
}

/** Returns the objects among the items of a list, or an empty list if the value is not a list. */
export const recordsAt = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isRecord) : []);
