import { isDeepStrictEqual } from 'node:util';
import { MongoServerError } from 'mongodb';

/*
 * The part of MongoDB's query and aggregation language that the operations of a call use. Anything else throws, so that a
 * difference to MongoDB cannot go unnoticed. A missing field is `undefined`.
 */

/** A document, as a value that is never changed. */
export type Row = Readonly<Record<string, unknown>>;

interface Scope {
  root: Row;
  now: Date;
  variables: Row;
}

const isObject = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

const unsupported = (what: string): never => {
  throw new Error(`${what} is not part of the copy of MongoDB in memory`);
};

/** Copies a value as BSON stores it: without undefined fields. */
export function stored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => stored(item) ?? null);
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key in value) if (value[key] !== undefined) copy[key] = stored(value[key]);
  return copy;
}

/** Reads a path like an aggregation expression: through an array, it reads every element. */
function read(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const [depth, key] of path.entries()) {
    if (Array.isArray(current))
      return current.map((item) => read(item, path.slice(depth))).filter((item) => item !== undefined);
    current = isObject(current) ? current[key] : undefined;
  }
  return current;
}

/** Returns the row with another value at the path; undefined removes the field. */
function setPath(row: Row, path: string, value: unknown): Row {
  const dot = path.indexOf('.');
  const copy: Record<string, unknown> = { ...row };
  if (dot < 0) {
    if (value === undefined) delete copy[path];
    else copy[path] = value;
    return copy;
  }
  const key = path.slice(0, dot);
  const child = row[key];
  if (value === undefined && child === undefined) return row;
  copy[key] = setPath(isObject(child) ? child : {}, path.slice(dot + 1), value);
  return copy;
}

/** MongoDB's order of types. */
function rankOf(value: unknown): number {
  if (value === undefined) return 0;
  if (value === null) return 1;
  if (typeof value === 'number') return 2;
  if (typeof value === 'string') return 3;
  if (value instanceof Date) return 7;
  if (typeof value === 'boolean') return 6;
  return Array.isArray(value) ? 5 : 4;
}

const scalar = (value: unknown): number | string => {
  if (typeof value === 'number' || typeof value === 'string') return value;
  if (typeof value === 'boolean' || value instanceof Date) return Number(value);
  return value == null ? 0 : unsupported('the comparison of objects');
};

function compare(a: unknown, b: unknown): number {
  const ranks = rankOf(a) - rankOf(b);
  if (ranks !== 0) return ranks;
  const [x, y] = [scalar(a), scalar(b)];
  if (x === y) return 0;
  return x < y ? -1 : 1;
}

const equals = (a: unknown, b: unknown): boolean =>
  isObject(a) || Array.isArray(a) ? isDeepStrictEqual(a, b) : rankOf(a) === rankOf(b) && compare(a, b) === 0;

const isTrue = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && value !== 0;

const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : unsupported(`a value that is no array: ${JSON.stringify(value)}`);

const rowOf = (value: unknown): Row =>
  isObject(value) ? value : unsupported(`a value that is no object: ${JSON.stringify(value)}`);

/** The number of a value; null for a missing one, like the arithmetic of MongoDB. */
function numberOf(value: unknown): number | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'number' || value instanceof Date
    ? Number(value)
    : unsupported(`arithmetic with ${JSON.stringify(value)}`);
}

function subtract(a: unknown, b: unknown): unknown {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x === null || y === null) return null;
  return a instanceof Date && !(b instanceof Date) ? new Date(x - y) : x - y;
}

function add(values: readonly unknown[]): unknown {
  const numbers = values.map(numberOf);
  return numbers.includes(null) ? null : numbers.reduce((sum: number, number) => sum + (number ?? 0), 0);
}

function truncate(date: unknown, unit: unknown): Date {
  if (!(date instanceof Date)) return unsupported('$dateTrunc of a value that is no date');
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  if (unit === 'month') return new Date(Date.UTC(year, month));
  return unit === 'day'
    ? new Date(Date.UTC(year, month, date.getUTCDate()))
    : unsupported(`the unit ${unit}`);
}

const bind = (scope: Scope, variables: Row): Scope => ({
  ...scope,
  variables: { ...scope.variables, ...variables },
});

type Operator = (argument: unknown, scope: Scope) => unknown;

const each =
  (apply: (...values: unknown[]) => unknown): Operator =>
  (argument, scope) =>
    apply(...listOf(argument).map((item) => evaluate(item, scope)));

/** An operator that takes one argument, in an array or alone. */
const one =
  (apply: (value: unknown) => unknown): Operator =>
  (argument, scope) =>
    apply(evaluate(Array.isArray(argument) && argument.length === 1 ? argument[0] : argument, scope));

const OPERATORS: Readonly<Record<string, Operator>> = {
  $literal: (argument) => argument,
  $and: (argument, scope) => listOf(argument).every((item) => isTrue(evaluate(item, scope))),
  $or: (argument, scope) => listOf(argument).some((item) => isTrue(evaluate(item, scope))),
  $not: one((value) => !isTrue(value)),
  $eq: each(equals),
  $ne: each((a, b) => !equals(a, b)),
  $gt: each((a, b) => compare(a, b) > 0),
  $gte: each((a, b) => compare(a, b) >= 0),
  $lt: each((a, b) => compare(a, b) < 0),
  $lte: each((a, b) => compare(a, b) <= 0),
  $in: each((value, list) => listOf(list).some((item) => equals(item, value))),
  $add: each((...values) => add(values)),
  $subtract: each(subtract),
  $max: each((...values) =>
    values
      .filter((value) => value != null)
      .reduce((max: unknown, value) => (compare(value, max) > 0 ? value : max), null),
  ),
  $type: one((value) => (value === undefined ? 'missing' : 'present')),
  // Only `checked` (store/ledger/invariant.ts) uses it, to fail.
  $toInt: one((value) => {
    throw new MongoServerError({ message: `Failed to parse number '${value}'`, code: 241 });
  }),
  $size: one((value) => listOf(value).length),
  $first: one((list) => listOf(list)[0]),
  $slice: each((list, from, count) =>
    count === undefined
      ? listOf(list).slice(0, Number(from))
      : listOf(list).slice(Number(from), Number(from) + Number(count)),
  ),
  $concatArrays: each((...lists) => lists.flatMap(listOf)),
  $objectToArray: one((value) => Object.entries(rowOf(value)).map(([k, v]) => ({ k, v }))),
  $arrayToObject: one((list) =>
    Object.fromEntries(
      listOf(list)
        .map(rowOf)
        .map(({ k, v }) => [k, v]),
    ),
  ),
  $mergeObjects: each((...rows) => Object.assign({}, ...rows.map(rowOf))),
  $cond(argument, scope) {
    const [when, then, otherwise] = listOf(argument);
    return evaluate(isTrue(evaluate(when, scope)) ? then : otherwise, scope);
  },
  $ifNull(argument, scope) {
    let value: unknown;
    for (const item of listOf(argument)) {
      value = evaluate(item, scope);
      if (value !== undefined && value !== null) break;
    }
    return value;
  },
  $filter(argument, scope) {
    const { input, as = 'this', cond } = rowOf(argument);
    return listOf(evaluate(input, scope)).filter((item) =>
      isTrue(evaluate(cond, bind(scope, { [String(as)]: item }))),
    );
  },
  $map(argument, scope) {
    const { input, as = 'this', in: body } = rowOf(argument);
    return listOf(evaluate(input, scope)).map((item) => evaluate(body, bind(scope, { [String(as)]: item })));
  },
  $let(argument, scope) {
    const { vars, in: body } = rowOf(argument);
    const values = Object.entries(rowOf(vars)).map(([name, value]) => [name, evaluate(value, scope)]);
    return evaluate(body, bind(scope, Object.fromEntries(values)));
  },
  $dateTrunc(argument, scope) {
    const { date, unit } = rowOf(argument);
    return truncate(evaluate(date, scope), unit);
  },
};

function reference(path: string, { root, now, variables }: Scope): unknown {
  if (!path.startsWith('$$')) return read(root, path.slice(1).split('.'));
  const [name = '', ...rest] = path.slice(2).split('.');
  if (name === 'NOW') return now;
  if (name === 'REMOVE') return undefined;
  return name in variables ? read(variables[name], rest) : unsupported(`the variable ${name}`);
}

function evaluate(expression: unknown, scope: Scope): unknown {
  if (typeof expression === 'string')
    return expression.startsWith('$') ? reference(expression, scope) : expression;
  if (Array.isArray(expression)) return expression.map((item) => evaluate(item, scope) ?? null);
  if (!isObject(expression)) return expression;
  const keys = Object.keys(expression);
  const [first = ''] = keys;
  if (first.startsWith('$')) {
    const operator = OPERATORS[first] ?? unsupported(first);
    return operator(expression[first], scope);
  }
  const value: Record<string, unknown> = {};
  for (const key of keys) {
    const item = evaluate(expression[key], scope);
    if (item !== undefined) value[key] = item;
  }
  return value;
}

/** Whether a literal object in `$set` would be merged into the field instead of replacing it. */
const isLiteralObject = (value: unknown): boolean =>
  isObject(value) && !Object.keys(value).some((key) => key.startsWith('$'));

/** Applies the stages of an update pipeline to a row. */
export function applyPipeline(row: Row, stages: readonly Row[], now: Date): Row {
  let current = row;
  for (const { $set, $unset, $replaceWith, ...others } of stages) {
    if (Object.keys(others).length > 0) unsupported(Object.keys(others).join());
    if (isObject($set)) {
      const scope = { root: current, now, variables: {} };
      for (const [path, expression] of Object.entries($set)) {
        if (isLiteralObject(expression)) unsupported('a literal object in $set');
        current = setPath(current, path, stored(evaluate(expression, scope)));
      }
    }
    if (typeof $unset === 'string') current = setPath(current, $unset, undefined);
    if ($replaceWith !== undefined)
      current = rowOf(stored(evaluate($replaceWith, { root: current, now, variables: {} })));
  }
  return current;
}

/** The values at a path, as a filter sees them: those of the elements of arrays, and the arrays themselves. */
function valuesAt(value: unknown, path: readonly string[]): unknown[] {
  const [key, ...rest] = path;
  if (key === undefined) return Array.isArray(value) ? [value, ...value] : [value];
  if (Array.isArray(value)) {
    const indexed = /^\d+$/.test(key) ? valuesAt(value[Number(key)], rest) : [];
    return [...indexed, ...value.flatMap((item) => valuesAt(item, path))];
  }
  return valuesAt(isObject(value) ? value[key] : undefined, rest);
}

type Test = (values: readonly unknown[], argument: unknown) => boolean;

/** Compares only values of the same type, like filters and unlike expressions. */
const ordered =
  (accepts: (order: number) => boolean): Test =>
  (values, argument) =>
    values.some((value) => rankOf(value) === rankOf(argument) && accepts(compare(value, argument)));

const isEqual: Test = (values, argument) =>
  values.some((value) => equals(value ?? null, argument)) || (argument === null && values.length === 0);

const TYPES: Readonly<Record<string, number>> = { null: 1, string: 3, date: 7 };

const TESTS: Readonly<Record<string, Test>> = {
  $eq: isEqual,
  $ne: (values, argument) => !isEqual(values, argument),
  $in: (values, argument) => listOf(argument).some((item) => isEqual(values, item)),
  $nin: (values, argument) => !listOf(argument).some((item) => isEqual(values, item)),
  $exists: (values, argument) => values.some((value) => value !== undefined) === argument,
  $type: (values, argument) =>
    values.some(
      (value) => rankOf(value) === (TYPES[String(argument)] ?? unsupported(`the type ${argument}`)),
    ),
  $gt: ordered((order) => order > 0),
  $gte: ordered((order) => order >= 0),
  $lt: ordered((order) => order < 0),
  $lte: ordered((order) => order <= 0),
};

/** Whether a filter matches a row. */
export function matches(row: Row, filter: Row, now: Date): boolean {
  return Object.entries(filter).every(([key, condition]) => {
    if (key === '$expr') return isTrue(evaluate(condition, { root: row, now, variables: {} }));
    if (key === '$or') return listOf(condition).some((part) => matches(row, rowOf(part), now));
    if (key.startsWith('$')) return unsupported(key);
    const values = valuesAt(row, key.split('.'));
    if (!isObject(condition) || !Object.keys(condition).some((name) => name.startsWith('$')))
      return isEqual(values, condition);
    return Object.entries(condition).every(([name, argument]) =>
      (TESTS[name] ?? unsupported(name))(values, argument),
    );
  });
}

/** Returns the fields of a row that a projection names, or all but those that it excludes. */
export function project(row: Row, projection: Row | undefined, now: Date): Row {
  if (projection === undefined || Object.keys(projection).length === 0) return row;
  const fields = Object.entries(projection);
  if (fields.every(([, value]) => value === 0))
    return fields.reduce((kept, [path]) => setPath(kept, path, undefined), row);
  let result: Row = { _id: row._id };
  for (const [path, value] of fields) {
    const found =
      value === 1 ? read(row, path.split('.')) : evaluate(value, { root: row, now, variables: {} });
    const [parent = ''] = path.split('.');
    // A projected field of an object leaves the object, even if it does not have the field.
    if (found !== undefined) result = setPath(result, path, found);
    else if (parent !== path && isObject(row[parent]) && result[parent] === undefined)
      result = { ...result, [parent]: {} };
  }
  return result;
}

const UPDATES: Readonly<Record<string, (row: Row, path: string, value: unknown, now: Date) => Row>> = {
  $set: (row, path, value) => setPath(row, path, stored(value)),
  $unset: (row, path) => setPath(row, path, undefined),
  $inc: (row, path, value) => setPath(row, path, Number(read(row, path.split('.')) ?? 0) + Number(value)),
  $currentDate: (row, path, _value, now) => setPath(row, path, now),
  $addToSet(row, path, value) {
    const list = listOf(row[path] ?? []);
    return list.some((item) => equals(item, value)) ? row : setPath(row, path, [...list, value]);
  },
  $pull(row, path, condition) {
    const list = listOf(read(row, path.split('.'))).map(rowOf);
    return setPath(
      row,
      path,
      list.filter((item) => !matches(item, rowOf(condition), new Date(0))),
    );
  },
};

/** Applies an update with operators to a row. @param inserts whether the row is new, so that `$setOnInsert` applies */
export function applyUpdate(row: Row, update: Row, now: Date, inserts: boolean): Row {
  let current = row;
  for (const [name, fields] of Object.entries(update)) {
    if (name === '$setOnInsert' && !inserts) continue;
    const apply = UPDATES[name === '$setOnInsert' ? '$set' : name] ?? unsupported(name);
    for (const [path, value] of Object.entries(rowOf(fields))) current = apply(current, path, value, now);
  }
  return current;
}

/** Orders rows as a sort of a query does. */
export const bySort =
  (sort: Row) =>
  (a: Row, b: Row): number => {
    for (const [path, direction] of Object.entries(sort)) {
      const order = compare(read(a, path.split('.')), read(b, path.split('.')));
      if (order !== 0) return direction === -1 ? -order : order;
    }
    return 0;
  };
