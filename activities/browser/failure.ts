import type { Page } from 'puppeteer';
import { ServiceError } from '../../schemas/errors.ts';
import { hasEmptyBody, hasNoDocument } from './page/settled.ts';
import type { Limits, RenderPage } from './pool.ts';
import { BrowserLost } from './pool.ts';
import type { Requests } from './requests.ts';
import { tryFor } from './tryFor.ts';

/** Error codes (Chromium's `net_error_list.h`) of URLs that Chromium itself refuses to load. */
const REFUSED =
  /ERR_(UNSAFE_REDIRECT|UNSAFE_PORT|DISALLOWED_URL_SCHEME|UNKNOWN_URL_SCHEME|BLOCKED_BY_CLIENT|ACCESS_DENIED)\b/;
/**
 * Authentication schemes in `WWW-Authenticate` (RFC 9110 section 11.6.1) for which a browser asks the user for
 * credentials. For other schemes a browser shows the response body.
 */
const ASKS_USER = /^\s*(?:basic|digest|negotiate|ntlm)\b/i;
const asksUser = (header: string): boolean => header.split(/[,\n]/).some((part) => ASKS_USER.test(part));
const TLS = /ERR_(CERT_\w+|SSL_\w+|BAD_SSL\w*|TLS\w*)/;

/**
 * Status 304: the response has no content and refers to a cached copy, which a new browser context does not have (RFC
 * 9110 section 15.4.5).
 */
const NOT_MODIFIED = 304;

const ANSWER_MS = 3_000;

const stillAnswers = async (page: Page): Promise<boolean> =>
  (await tryFor(
    page.evaluate(() => true),
    ANSWER_MS,
  )) === true;

const failed = (detail: string, cause: unknown) => new ServiceError('target_failed', { detail, cause });

/** Thrown when the target's response is not a page, although Chromium reported no error. */
class Refusal extends Error {}

/**
 * Returns an error if the document is not the target's page, else null. For such responses full Chromium shows an error
 * page of its own, and chromium-headless-shell shows nothing.
 */
async function refusalOf(
  { page, world }: Pick<RenderPage, 'page' | 'world'>,
  requests: Requests,
): Promise<Error | null> {
  if (page.url().startsWith('chrome-error:'))
    return new Refusal('The page navigated to an address that failed to load.');
  if (page.url().startsWith('about:')) return noPage(new Error('the page navigated to an empty page'));
  const failure = requests.navigation?.failure()?.errorText;
  // The response ended before the first byte of the document. Chromium never paints such a page.
  if (failure !== undefined && (await tryFor(world.evaluate(hasNoDocument), ANSWER_MS)) === true)
    return new Refusal(failure);
  const response = requests.navigation?.response();
  const status = response?.status() ?? 0;
  if (status < 400) return null;
  if (status === 401 && asksUser(response?.headers()['www-authenticate'] ?? ''))
    return new Refusal('net::ERR_INVALID_AUTH_CREDENTIALS');
  const empty = await tryFor(world.evaluate(hasEmptyBody), ANSWER_MS);
  return empty === true ? new Refusal(`The target answered with status ${status} and an empty body.`) : null;
}

/** Asserts that the document is the page that the target sent. @throws ServiceError when it is not */
export async function assertPage(
  renderPage: Pick<RenderPage, 'page' | 'world' | 'proxy'>,
  requests: Requests,
  limits: Limits,
): Promise<void> {
  const refusal = await refusalOf(renderPage, requests);
  if (refusal !== null) throw await explainNavigation(refusal, renderPage, requests, limits);
}

/**
 * Returns the error to report for a page that could not be loaded.
 *
 * @param cause the error of the navigation, from Puppeteer or from `assertPage`
 */
export async function explainNavigation(
  cause: unknown,
  { page, proxy }: Pick<RenderPage, 'page' | 'proxy'>,
  requests: Requests,
  { egress, signal, deadline }: Limits,
): Promise<unknown> {
  if (cause instanceof ServiceError || cause instanceof BrowserLost) return cause;
  const text = cause instanceof Error ? cause.message : '';
  // Errors that the target did not cause are returned unchanged; the pool then checks whether the browser was lost.
  const isOwn = !(cause instanceof Refusal) && !text.includes('net::');
  if (isOwn || text.includes('ERR_PROXY_CONNECTION_FAILED')) return cause;
  const url = requests.navigation?.url() ?? '';
  if (REFUSED.test(text) || proxy.refused.has(URL.parse(url)?.hostname ?? ''))
    return new ServiceError('target_refused', { cause });
  if (proxy.exhausted)
    return new ServiceError('source_too_large', { detail: 'The page loads more than 200 MB.', cause });
  if (TLS.test(text)) return failed(`TLS with the target failed (${TLS.exec(text)?.[0]}).`, cause);
  if (text.includes('ERR_TOO_MANY_REDIRECTS')) return failed('The target redirects endlessly.', cause);
  if (text.includes('ERR_INVALID_AUTH_CREDENTIALS'))
    return failed('The target requires a user name and a password.', cause);
  if (text.includes('ERR_ABORTED')) {
    // A crash of the page also aborts the navigation, but a crashed page does not respond.
    if (!(await stillAnswers(page))) return cause;
    // A navigation that ended in a download has a response. A redirect to a scheme that only scripts or other programs
    // open (`javascript:`, `mailto:`) has none.
    const answered = (requests.navigation?.response() ?? null) !== null || requests.status === NOT_MODIFIED;
    return answered ? noPage(cause) : new ServiceError('target_refused', { cause });
  }
  try {
    // The proxy's response to the browser does not contain the reason of a refusal, so check the URL here to get the
    // reason.
    await egress.vet(egress.parseTarget(url, { kind: 'url', pointer: '/url' }), { signal, deadline });
  } catch (error) {
    return error instanceof ServiceError && error.code !== 'invalid_input' ? error : failed(text, cause);
  }
  const status = requests.navigation?.response()?.status();
  if (status === 504 || /ERR_(CONNECTION_)?TIMED_OUT/.test(text))
    return new ServiceError('target_timeout', { cause });
  if (status !== undefined && status >= 400 && status !== 502)
    return failed(`The target answered with status ${status} and no page.`, cause);
  return new ServiceError('target_failed', { cause });
}

/** Error for a response that has no content or is a file to download. */
export const noPage = (cause?: unknown): ServiceError =>
  new ServiceError('unsupported_source', {
    detail:
      'The target sent no page: the response has no content (status 204 or 304), a script emptied the page, or the response is a file to download.',
    cause,
  });
