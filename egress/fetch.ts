import { type CookieJar, createCookieJar } from './cookies.ts';
import { targetFailed } from './failure.ts';
import { REDIRECTS } from './limits.ts';
import type { Policy } from './policy.ts';
import type { GuardedResponse, Header, Trail } from './response.ts';
import type { RequestOptions } from './sendRequest.ts';
import { redirectTarget, type Target } from './target.ts';

export interface FetchOptions extends RequestOptions {
  /** Maximum number of redirects to follow. Default 10. */
  maxRedirects?: number;
  /** The cookies of earlier requests, to which those of this one are added. Default: none. */
  cookies?: CookieJar;
}

const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that are dropped when a redirect leads to another origin: credentials, and the Host header of the old origin. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'host', 'proxy-authorization']);
/** Headers that describe a body and are dropped with it ("request-body-header names" of the Fetch Standard). */
const BODY_HEADERS: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
]);

const without = (headers: readonly Header[], names: ReadonlySet<string>): Header[] =>
  headers.filter(([name]) => !names.has(name.toLowerCase()));

/**
 * Returns the Location header of a redirect; null when the response is not a redirect or has no Location.
 *
 * @throws ServiceError `target_failed` when the response has two different Location headers
 */
function locationOf({ status, headers }: GuardedResponse): string | null {
  if (!REDIRECT_STATUSES.has(status)) return null;
  const locations = new Set(
    headers
      // An empty one leads nowhere: browsers and curl show the response.
      .filter(([name, value]) => name.toLowerCase() === 'location' && value !== '')
      .map(([, value]) => value),
  );
  if (locations.size > 1)
    throw targetFailed('protocol', {
      detail: 'The target sent a redirect with two different Location headers.',
    });
  return [...locations][0] ?? null;
}

/** Returns the request to send after a redirect (Fetch Standard, HTTP-redirect fetch, steps 11 to 13). */
function redirected(options: RequestOptions, status: number, from: Target, to: Target): RequestOptions {
  const { method = 'GET', headers = [] } = options;
  const kept = from.url?.origin === to.url?.origin ? headers : without(headers, CREDENTIALS);
  const becomesGet =
    ((status === 301 || status === 302) && method === 'POST') ||
    (status === 303 && method !== 'GET' && method !== 'HEAD');
  return becomesGet
    ? { ...options, method: 'GET', headers: without(kept, BODY_HEADERS), body: null }
    : { ...options, headers: kept };
}

/** Adds the cookies of the chain to a request, unless its caller has set the header. */
function withCookies(options: RequestOptions, jar: CookieJar, target: Target): RequestOptions {
  const { headers = [] } = options;
  const cookies = jar.header(target);
  if (cookies === null || headers.some(([name]) => name.toLowerCase() === 'cookie')) return options;
  // Headers are written as Latin-1. Decoding the UTF-8 bytes as Latin-1 returns the bytes that the server sent.
  return { ...options, headers: [...headers, ['Cookie', Buffer.from(cookies).toString('latin1')]] };
}

/**
 * Sends a request and follows its redirects. The target of each redirect is parsed and vetted like the first target. Cookies
 * that a redirect sets are sent with the requests that follow, as browsers do, because some servers redirect a client without
 * their cookie to the same URL again.
 *
 * @param send vets a target and sends one request to it
 * @throws ServiceError as `send`; `target_refused` for a redirect to a forbidden target, `target_failed` for too many
 *   redirects
 */
export async function fetchFollowing(
  send: (target: Target, options: RequestOptions, trail: Trail) => Promise<GuardedResponse>,
  policy: Policy,
  first: Target,
  { maxRedirects = REDIRECTS, cookies: jar = createCookieJar(), ...options }: FetchOptions,
): Promise<GuardedResponse> {
  let trail: Trail = { startedAt: performance.now(), redirects: [] };
  let target = first;
  let request: RequestOptions = options;
  for (;;) {
    const response = await send(target, withCookies(request, jar, target), trail);
    try {
      jar.store(response.headers, target);
      const location = locationOf(response);
      if (location === null) return response;
      const { startedAt, redirects } = trail;
      if (redirects.length === maxRedirects) throw targetFailed('redirects');
      trail = {
        startedAt,
        redirects: [
          ...redirects,
          { status: response.status, url: response.url, fragment: response.fragment },
        ],
      };
      const next = redirectTarget(target, location, policy);
      request = redirected(request, response.status, target, next);
      target = next;
    } catch (error) {
      response.close();
      throw error;
    }
    response.close();
  }
}
