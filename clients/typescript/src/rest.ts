import type { AccountRequest, RequestOptions } from './options.ts';
import type { Success, Transport, TransportRequest } from './transport.ts';

interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/** Adds parameters to a path; undefined ones are left out. */
export function pathWith(path: string, query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value));
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The request of an operation that is not a tool call. */
export const requestOf = ({ method, path, query = {}, body }: AccountRequest): TransportRequest => ({
  method,
  path: pathWith(path, query),
  headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  isTool: false,
  idempotencyKey: null,
  // A POST creates something each time.
  always: method !== 'POST',
  keyIsFreed: false,
});

/** The row in a response, whose schema the service guarantees. */
export function rowOf<T>({ body }: Success): T {
  const row: T = JSON.parse(body);
  return row;
}

/** Yields the rows of a list. Fetches page after page. */
export async function* listRows<T>(
  send: Transport,
  { query = {}, ...request }: AccountRequest,
  options?: RequestOptions,
): AsyncGenerator<T, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = rowOf<Page<T>>(await send(requestOf({ ...request, query: { ...query, cursor } }), options));
    yield* page.items;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}
