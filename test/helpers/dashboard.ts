import { parse } from 'parse5';
import { attribute, elementsOf } from './markup.ts';
import { type Credentials, freshCredentials, signUp } from './session.ts';
import type { Stack } from './stack.ts';

type Headers = Record<string, string>;
export type Fields = Record<string, string> | [string, string][];

/** Somebody with a browser that keeps its cookie, and sends forms with what their pages have in them. */
export interface Visitor extends Credentials {
  cookie: string;
  get(path: string, headers?: Headers): Promise<Response>;
  /** Sends a form of ours as its page would: with the session's token. */
  post(path: string, fields?: Fields, headers?: Headers): Promise<Response>;
  /** Sends whatever is given, and nothing else. */
  postRaw(path: string, fields: Fields, headers?: Headers): Promise<Response>;
  formToken(): Promise<string>;
}

/** What a browser sends when a form of ours is submitted. */
const fromOurPage = (baseUrl: string): Headers => ({ Origin: baseUrl, 'Sec-Fetch-Site': 'same-origin' });

export function visitor({ baseUrl }: Pick<Stack, 'baseUrl'>, cookie: string, who: Credentials): Visitor {
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
    ...who,
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

/** A new owner. */
export async function newOwner(stack: Pick<Stack, 'baseUrl'>): Promise<Visitor> {
  const who = freshCredentials();
  return visitor(stack, await signUp(stack.baseUrl, who), who);
}
