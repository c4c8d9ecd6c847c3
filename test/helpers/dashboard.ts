import { parse } from 'parse5';
import { attribute, elementsOf } from './markup.ts';
import { type Credentials, freshCredentials, signUp } from './session.ts';
import type { Stack } from './stack.ts';

type Headers = Record<string, string>;
export type Fields = Record<string, string> | [string, string][];

/** A user with a browser that keeps cookies and submits forms with the hidden fields of their pages. */
export interface Visitor extends Credentials {
  cookie: string;
  get(path: string, headers?: Headers): Promise<Response>;
  /** Submits a form as its page does, with the token of the session. */
  post(path: string, fields?: Fields, headers?: Headers): Promise<Response>;
  /** Sends exactly these fields. */
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

/** Signs up a new owner. */
export async function newOwner(stack: Pick<Stack, 'baseUrl'>): Promise<Visitor> {
  const credentials = freshCredentials();
  return visitor(stack, await signUp(stack.baseUrl, credentials), credentials);
}
