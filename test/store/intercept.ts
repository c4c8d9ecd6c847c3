import type { Collection, Document } from 'mongodb';
import type { Store } from '../../store/mongo/mongo.ts';

/** Decides when a database operation runs: immediately, later, never, or replaced by an error. */
export type Intercept = <T>(name: string, run: () => Promise<T>) => Promise<T>;

/**
 * Wraps a cursor so that its first read goes through the intercept. A cursor queries the database only when it is first
 * read.
 */
function interceptCursor(cursor: object, name: string, intercept: Intercept): object {
  const toArray = (): Promise<unknown[]> =>
    intercept(name, async () => {
      const read: unknown = Reflect.get(cursor, 'toArray');
      if (typeof read !== 'function') throw new Error(`${name} has no toArray`);
      return Reflect.apply(read, cursor, []);
    });
  const proxy: object = new Proxy(cursor, {
    get(target, key) {
      if (key === 'toArray') return toArray;
      if (key === Symbol.asyncIterator)
        return async function* () {
          yield* await toArray();
        };
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        Reflect.apply(member, target, args);
        return proxy;
      };
    },
  });
  return proxy;
}

function interceptCollection<T extends Document>(
  collection: Collection<T>,
  intercept: Intercept,
): Collection<T> {
  return new Proxy(collection, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      const name = `${target.collectionName}.${String(key)}`;
      if (key === 'find' || key === 'aggregate')
        return (...args: unknown[]) => interceptCursor(Reflect.apply(member, target, args), name, intercept);
      return (...args: unknown[]) => intercept(name, async () => Reflect.apply(member, target, args));
    },
  });
}

/**
 * Wraps a store so that each operation on the collections of the ledger, on payments, invoices, top-ups, leases, notices and call
 * contents goes through `intercept`.
 */
export const interceptStore = (store: Store, intercept: Intercept): Store => ({
  ...store,
  accounts: interceptCollection(store.accounts, intercept),
  apiProcesses: interceptCollection(store.apiProcesses, intercept),
  calls: interceptCollection(store.calls, intercept),
  entries: interceptCollection(store.entries, intercept),
  events: interceptCollection(store.events, intercept),
  grants: interceptCollection(store.grants, intercept),
  invoices: interceptCollection(store.invoices, intercept),
  invoiceSeries: interceptCollection(store.invoiceSeries, intercept),
  jobs: interceptCollection(store.jobs, intercept),
  notices: interceptCollection(store.notices, intercept),
  payments: interceptCollection(store.payments, intercept),
  autoTopUps: interceptCollection(store.autoTopUps, intercept),
  topUpRuns: interceptCollection(store.topUpRuns, intercept),
  callContents: interceptCollection(store.callContents, intercept),
});
