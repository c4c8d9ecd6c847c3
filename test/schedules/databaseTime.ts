import type { Collection, Document } from 'mongodb';
import { isRecord } from '../../schemas/isRecord.ts';
import type { Store } from '../../store/mongo/mongo.ts';

const isPlain = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && Object.getPrototypeOf(value) === Object.prototype;

/** Replaces the time of the database server in an argument of an operation. */
function withTime(value: unknown, now: Date): unknown {
  if (value === '$$NOW') return { $literal: now };
  if (Array.isArray(value)) return value.map((item) => withTime(item, now));
  if (!isPlain(value)) return value;
  // Waiting for the majority and the journal only takes time here: one server runs one operation at a time.
  const { $currentDate, writeConcern: _, ...others } = value;
  const replaced = Object.fromEntries(
    Object.entries(others).map(([key, item]) => [key, withTime(item, now)]),
  );
  if (!isPlain($currentDate)) return replaced;
  const dates = Object.fromEntries(Object.keys($currentDate).map((field) => [field, now]));
  return { ...replaced, $set: { ...(isPlain(replaced.$set) && replaced.$set), ...dates } };
}

function timed<T extends Document>(collection: Collection<T>, now: () => Date): Collection<T> {
  return new Proxy(collection, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) =>
        Reflect.apply(
          member,
          target,
          args.map((argument) => withTime(argument, now())),
        );
    },
  });
}

/** Returns a store whose operations see another time than that of the database server. */
export const storeAt = (store: Store, now: () => Date): Store => ({
  ...store,
  accounts: timed(store.accounts, now),
  apiProcesses: timed(store.apiProcesses, now),
  calls: timed(store.calls, now),
  events: timed(store.events, now),
});
