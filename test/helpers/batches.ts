import type { BatchRow } from '../../schemas/batches.ts';
import type { TestAccount } from './account.ts';
import { type Json, recordAt } from './json.ts';
import { until } from './until.ts';

export const NDJSON = 'application/x-ndjson';
export const CSV = 'text/csv';

/** The requests of an account about its batches, with its key of scope `tools`. */
export function batchesOf({ toolsKey }: Pick<TestAccount, 'toolsKey'>, baseUrl: string) {
  const request = (path: string, init: RequestInit = {}, key = toolsKey): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set('Authorization', `Bearer ${key}`);
    return fetch(`${baseUrl}/api/v1/batches${path}`, { ...init, headers });
  };
  const send = (
    type: string,
    body: string,
    headers: Record<string, string> = {},
    query = '',
  ): Promise<Response> =>
    request(query, { method: 'POST', body, headers: { ...headers, 'Content-Type': type } });
  const post = (body: object, headers: Record<string, string> = {}): Promise<Response> =>
    send('application/json', JSON.stringify(body), headers);
  const get = async (id: string): Promise<BatchRow> => (await request(`/${id}`)).json();
  const act = async (id: string, action: string, body?: object): Promise<BatchRow> => {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { 'Content-Type': 'application/json' };
    const response = await request(`/${id}/${action}`, { method: 'POST', headers, ...json });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return response.json();
  };
  return {
    request,
    send,
    post,
    get,
    act,
    /** Creates a batch. @throws if it is not accepted */
    async create(body: object, headers: Record<string, string> = {}): Promise<BatchRow> {
      const response = await post(body, headers);
      if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
      return response.json();
    },
    cancel: (id: string): Promise<Response> => request(`/${id}`, { method: 'DELETE' }),
    /** Waits until the batch is in one of these states. Default: until it has ended. */
    reached: (id: string, ...states: string[]): Promise<BatchRow> =>
      until(`batch ${id} is ${states.join(' or ') || 'ended'}`, async () => {
        const row = await get(id);
        return (states.length === 0 ? row.endedAt !== null : states.includes(row.state)) && row;
      }),
  };
}

/** Parses NDJSON. */
export const linesOf = (text: string): Json[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => recordAt(JSON.parse(line)));
