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

type Method = readonly [key: PropertyKey, args: readonly unknown[]];

function callMethod(object: unknown, [key, args]: Method): unknown {
  const member: unknown = isRecord(object) ? Reflect.get(object, key) : undefined;
  if (typeof member !== 'function') throw new TypeError(`no method ${String(key)}`);
  return Reflect.apply(member, object, args);
}

/** A cursor that reads the time when it is first read, because MongoDB runs its query only then. @param open opens the cursor */
function timedCursor(open: () => unknown): object {
  const options: Method[] = [];
  const toArray = async (): Promise<unknown[]> => {
    const rows = await callMethod(options.reduce(callMethod, open()), ['toArray', []]);
    return Array.isArray(rows) ? rows : [];
  };
  const proxy: object = new Proxy(
    {},
    {
      get(_, key) {
        if (key === 'toArray') return toArray;
        if (key === Symbol.asyncIterator)
          return async function* () {
            yield* await toArray();
          };
        return (...args: unknown[]) => {
          options.push([key, args]);
          return proxy;
        };
      },
    },
  );
  return proxy;
}

function timed<T extends Document>(collection: Collection<T>, now: () => Date): Collection<T> {
  return new Proxy(collection, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      const call = (args: readonly unknown[]): unknown =>
        Reflect.apply(
          member,
          target,
          args.map((argument) => withTime(argument, now())),
        );
      return (...args: unknown[]) =>
        key === 'find' || key === 'aggregate' ? timedCursor(() => call(args)) : call(args);
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
