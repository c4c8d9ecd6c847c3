import { randomUUID } from 'node:crypto';
import { parse } from 'parse5';
import { attribute, elementsOf } from './markup.ts';
import { type Credentials, freshCredentials, signUp } from './session.ts';
import type { Stack } from './stack.ts';

type Headers = Record<string, string>;
export type Fields = Record<string, string> | [string, string][];

/** A signed-in user whose browser keeps cookies and submits forms with the hidden fields of their pages. */
export interface Visitor extends Credentials {
  cookie: string;
  get(path: string, headers?: Headers): Promise<Response>;
  /** Submits a form as its page does, including the session's CSRF token. */
  post(path: string, fields?: Fields, headers?: Headers): Promise<Response>;
  /** Submits exactly these fields, without adding the CSRF token. */
  postRaw(path: string, fields: Fields, headers?: Headers): Promise<Response>;
  formToken(): Promise<string>;
}

/** The headers that a browser sends with a form of the dashboard. */
const fromOurPage = (baseUrl: string): Headers => ({ Origin: baseUrl, 'Sec-Fetch-Site': 'same-origin' });

export function visitor(
  { baseUrl }: Pick<Stack, 'baseUrl'>,
  cookie: string,
  credentials: Credentials,
): Visitor {
  const url = (path: string) => `${baseUrl}/dashboard${path}`;
  const get: Visitor['get'] = (path, headers = {}) =>
    fetch(url(path), { headers: { Cookie: cookie, ...headers }, redirect: 'manual' });
  const postRaw: Visitor['postRaw'] = (path, fields, headers = {}) =>
    fetch(url(path), {
      method: 'POST',
      redirect: 'manual',
      headers: { Cookie: cookie, ...fromOurPage(baseUrl), ...headers },
      body: new URLSearchParams(fields),
    });
  async function formToken(): Promise<string> {
    const elements = elementsOf(parse(await (await get('/settings')).text()));
    const field = elements.find((element) => attribute(element, 'name') === 'formToken');
    return (field && attribute(field, 'value')) ?? '';
  }
  return {
    ...credentials,
    cookie,
    get,
    postRaw,
    formToken,
    post: async (path, fields = {}, headers = {}) =>
      postRaw(
        path,
        [...(Array.isArray(fields) ? fields : Object.entries(fields)), ['formToken', await formToken()]],
        headers,
      ),
  };
}

/** Signs up a new user, who owns a new account. */
export async function newOwner(stack: Pick<Stack, 'baseUrl'>): Promise<Visitor> {
  const credentials = freshCredentials();
  return visitor(stack, await signUp(stack.baseUrl, credentials), credentials);
}

/** Creates a key for tools on its page. Returns the key. */
export async function madeKey(owner: Visitor, name = 'website'): Promise<string> {
  const made = await owner.post('/keys', { name, scope: 'tools' });
  return /ut_[0-9A-Za-z]{36}/.exec(await made.text())?.[0] ?? '';
}

/** Calls a tool with a key. */
export const callWith = (
  { baseUrl }: Pick<Stack, 'baseUrl'>,
  key: string,
  tool = 'hash-text',
  body: unknown = { text: 'abc' },
): Promise<Response> =>
  fetch(`${baseUrl}/api/v1/tools/${tool}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Uploads a CSV file on the page of new batches, as a browser does. @param fields replace those of the form */
export async function uploadCsv(
  { baseUrl }: Pick<Stack, 'baseUrl'>,
  owner: Visitor,
  tool: string,
  csv: string | Uint8Array<ArrayBuffer>,
  fields: Record<string, string> = {},
): Promise<Response> {
  const form = new FormData();
  const all = { formToken: await owner.formToken(), tool, reference: randomUUID(), ...fields };
  for (const [name, value] of Object.entries(all)) form.set(name, value);
  form.set('file', new Blob([csv], { type: 'text/csv' }), 'rows.csv');
  return fetch(`${baseUrl}/dashboard/batches/upload`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Cookie: owner.cookie, ...fromOurPage(baseUrl) },
    body: form,
  });
}

/** Returns the address to which a form led, below `/dashboard`. */
export const ledTo = (response: Response): string =>
  (response.headers.get('location') ?? '').replace('/dashboard', '');
