import { isRecord } from '../../schemas/isRecord.ts';

export { isRecord };

export type Json = Record<string, unknown>;

/** The object at the end of the keys; an empty one where there is none. */
export function recordAt(value: unknown, ...keys: string[]): Json {
  const found = keys.reduce<unknown>((at, key) => (isRecord(at) ? at[key] : undefined), value);
  return isRecord(found) ? found : {};
}

/** The objects of a list; none where it is no list. */
export const recordsAt = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isRecord) : []);
