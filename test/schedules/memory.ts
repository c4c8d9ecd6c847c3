import { type Collection, type Document, MongoBulkWriteError, MongoServerError } from 'mongodb';
import { isRecord } from '../../schemas/isRecord.ts';
import { DUPLICATE_KEY, isDuplicate, type Store } from '../../store/mongo/mongo.ts';
import { applyPipeline, applyUpdate, bySort, matches, project, type Row, stored } from './expressions.ts';

/** Returns the value of a unique key, or null if the row is not in the index. */
type UniqueKey = (row: Row) => string | null;

interface Options {
  upsert?: boolean;
  projection?: Row;
  returnDocument?: 'before' | 'after';
}

const duplicate = (): MongoServerError =>
  new MongoServerError({ message: 'E11000 duplicate key', code: DUPLICATE_KEY });

/** The error of `insertMany` when some of the rows exist. */
const duplicates = (): MongoServerError =>
  Object.assign(Object.setPrototypeOf(duplicate(), MongoBulkWriteError.prototype), {
    writeErrors: [{ code: DUPLICATE_KEY }],
  });

const text = (value: unknown): string => `${typeof value} ${String(value)}`;

/** The fields that an upsert takes from its filter. */
const equalities = (filter: Row): Row =>
  Object.fromEntries(Object.entries(filter).filter(([key, value]) => !key.includes('.') && !isRecord(value)));

/** A query that has not run; its options are set like those of a cursor. */
class Query {
  readonly #find: (options: Options) => Row[];
  #options: Options;
  #limit = Number.POSITIVE_INFINITY;
  #sort: Row = {};

  constructor(find: (options: Options) => Row[], options: Options) {
    this.#find = find;
    this.#options = options;
  }
  batchSize(): this {
    return this;
  }
  limit(count: number): this {
    this.#limit = count;
    return this;
  }
  sort(sort: Row): this {
    this.#sort = sort;
    return this;
  }
  project(projection: Row): this {
    this.#options = { ...this.#options, projection };
    return this;
  }
  async toArray(): Promise<Row[]> {
    return this.#find(this.#options).sort(bySort(this.#sort)).slice(0, this.#limit);
  }
}

/** The rows of a collection, with the operations of MongoDB that the calls use. */
class Table {
  rows = new Map<string, Row>();
  readonly #now: () => Date;
  readonly #uniqueKeys: readonly UniqueKey[];

  constructor(now: () => Date, uniqueKeys: readonly UniqueKey[]) {
    this.#now = now;
    this.#uniqueKeys = [(row) => text(row._id), ...uniqueKeys];
  }

  *#matching(filter: Row): Generator<Row> {
    const now = this.#now();
    if (filter._id !== undefined && !isRecord(filter._id)) {
      const row = this.rows.get(text(filter._id));
      if (row !== undefined && matches(row, filter, now)) yield row;
      return;
    }
    for (const row of this.rows.values()) if (matches(row, filter, now)) yield row;
  }

  #assertUnique(row: Row, except: Row | null): void {
    for (const keyOf of this.#uniqueKeys) {
      const key = keyOf(row);
      if (key === null) continue;
      for (const other of this.rows.values()) if (other !== except && keyOf(other) === key) throw duplicate();
    }
  }

  #change(row: Row, update: Row | readonly Row[], inserts: boolean): Row {
    const now = this.#now();
    const isPipeline = (it: Row | readonly Row[]): it is readonly Row[] => Array.isArray(it);
    const changed = isPipeline(update)
      ? applyPipeline(row, update, now)
      : applyUpdate(row, update, now, inserts);
    this.#assertUnique(changed, inserts ? null : row);
    this.rows.set(text(changed._id), changed);
    return changed;
  }

  /** Changes the first matching row, or inserts one. Returns it before and after; null: there was none. */
  #changeOne(
    filter: Row,
    update: Row | readonly Row[],
    upsert: boolean,
  ): { before: Row | null; after: Row } | null {
    const [before = null] = this.#matching(filter);
    if (before === null && !upsert) return null;
    return { before, after: this.#change(before ?? equalities(filter), update, before === null) };
  }

  #insert(document: Row): void {
    const row = stored(document);
    if (!isRecord(row)) throw new TypeError('not a document');
    this.#assertUnique(row, null);
    this.rows.set(text(row._id), row);
  }

  find(filter: Row = {}, options: Options = {}): Query {
    const find = ({ projection }: Options) =>
      [...this.#matching(filter)].map((row) => project(row, projection, this.#now()));
    return new Query(find, options);
  }

  async findOne(filter: Row, options: Options = {}): Promise<Row | null> {
    const [row] = await this.find(filter, options).limit(1).toArray();
    return row ?? null;
  }

  async findOneAndUpdate(
    filter: Row,
    update: Row | readonly Row[],
    options: Options = {},
  ): Promise<Row | null> {
    const changed = this.#changeOne(filter, update, options.upsert === true);
    const row = options.returnDocument === 'after' ? changed?.after : changed?.before;
    return row ? project(row, options.projection, this.#now()) : null;
  }

  async updateOne(filter: Row, update: Row | readonly Row[], options: Options = {}) {
    const changed = this.#changeOne(filter, update, options.upsert === true);
    return { matchedCount: changed?.before ? 1 : 0 };
  }

  async updateMany(filter: Row, update: Row) {
    const rows = [...this.#matching(filter)];
    for (const row of rows) this.#change(row, update, false);
    return { matchedCount: rows.length };
  }

  async bulkWrite(operations: readonly { updateMany: { filter: Row; update: Row } }[]): Promise<void> {
    for (const { updateMany } of operations) await this.updateMany(updateMany.filter, updateMany.update);
  }

  async insertOne(document: Row): Promise<void> {
    this.#insert(document);
  }

  async insertMany(documents: readonly Row[]): Promise<void> {
    let someExist = false;
    for (const document of documents)
      try {
        this.#insert(document);
      } catch (error) {
        if (!isDuplicate(error)) throw error;
        someExist = true;
      }
    if (someExist) throw duplicates();
  }

  async distinct(path: string, filter: Row): Promise<unknown[]> {
    const values = [...this.#matching(filter)].map(
      (row) => project(row, { value: `$${path}` }, this.#now()).value,
    );
    return [...new Set(values.filter((value) => value !== undefined))];
  }

  async deleteOne(filter: Row): Promise<void> {
    const [row] = this.#matching(filter);
    if (row !== undefined) this.rows.delete(text(row._id));
  }
}

/** Puts a table in the place of a collection. Operations that the table does not have throw. */
function inMemory<T extends Document>(collection: Collection<T>, table: Table): Collection<T> {
  return new Proxy(collection, {
    get(target, key) {
      if (key === 'collectionName') return target.collectionName;
      const member: unknown = Reflect.get(table, key);
      if (typeof member !== 'function') throw new Error(`no ${String(key)} in memory`);
      return member.bind(table);
    },
  });
}

/**
 * Returns a store with the collections of calls in memory, and its tables. Its operations do what MongoDB does with a single
 * operation at a time; `calls.test.ts` runs the same schedules on both.
 *
 * @param store a connection to MongoDB, of which nothing but the types and the sessions is used
 * @param now the time of the database server
 */
export function memoryStore(store: Store, now: () => Date): Store {
  const table = (...uniqueKeys: UniqueKey[]) => new Table(now, uniqueKeys);
  const keyOfCall: UniqueKey = ({ accountId, idempotency }) =>
    isRecord(idempotency) ? `${accountId} ${idempotency.key}` : null;
  const tables = {
    accounts: table(({ email }) => text(email)),
    apiProcesses: table(),
    calls: table(keyOfCall),
    entries: table(({ accountId, seq }) => `${accountId} ${seq}`),
    events: table(),
    grants: table(),
    jobs: table(),
    notices: table(),
    topUpRuns: table(),
  };
  return {
    ...store,
    accounts: inMemory(store.accounts, tables.accounts),
    apiProcesses: inMemory(store.apiProcesses, tables.apiProcesses),
    calls: inMemory(store.calls, tables.calls),
    entries: inMemory(store.entries, tables.entries),
    events: inMemory(store.events, tables.events),
    grants: inMemory(store.grants, tables.grants),
    jobs: inMemory(store.jobs, tables.jobs),
    notices: inMemory(store.notices, tables.notices),
    topUpRuns: inMemory(store.topUpRuns, tables.topUpRuns),
    // Nothing waits for the dispatch of events.
    eventStored: async () => undefined,
    async transaction(steps) {
      const before = Object.values(tables).map((each) => ({ each, rows: new Map(each.rows) }));
      try {
        return await store.client.withSession(steps);
      } catch (error) {
        for (const { each, rows } of before) each.rows = rows;
        throw error;
      }
    },
  };
}
