import type { Page } from 'puppeteer';
import { ServiceError } from '../../schemas/errors.ts';
import { hasEmptyBody, hasNoDocument } from './page/settled.ts';
import type { Limits, RenderPage } from './pool.ts';
import { BrowserLost } from './pool.ts';
import type { Requests } from './requests.ts';
import { within } from './within.ts';

/** Targets that Chromium itself refuses (names of its `net_error_list.h`). */
const REFUSED =
  /ERR_(UNSAFE_REDIRECT|UNSAFE_PORT|DISALLOWED_URL_SCHEME|UNKNOWN_URL_SCHEME|BLOCKED_BY_CLIENT|ACCESS_DENIED)\b/;
/** Challenges (RFC 9110 section 11.6.1) for which a browser prompts the user; for others it shows the page. */
const ASKS_USER = /^\s*(?:basic|digest|negotiate|ntlm)\b/i;
const asksUser = (header: string): boolean => header.split(/[,\n]/).some((part) => ASKS_USER.test(part));
const TLS = /ERR_(CERT_\w+|SSL_\w+|BAD_SSL\w*|TLS\w*)/;

/** Without content, and to be answered from a cache that the browser does not have (RFC 9110 section 15.4.5). */
const NOT_MODIFIED = 304;

const ANSWER_MS = 3_000;

const stillAnswers = async (page: Page): Promise<boolean> =>
  (await within(
    page.evaluate(() => true),
    ANSWER_MS,
  )) === true;

const failed = (detail: string, cause: unknown) => new ServiceError('target_failed', { detail, cause });

/** A response that is not a page, though Chromium reports no error. */
class Refusal extends Error {}

/** Full Chromium shows its own error pages in these cases; chromium-headless-shell shows nothing. */
async function refusalOf(
  { page, world }: Pick<RenderPage, 'page' | 'world'>,
  requests: Requests,
): Promise<Error | null> {
  if (page.url().startsWith('chrome-error:')) return new Refusal('the page left for one that failed');
  if (page.url().startsWith('about:')) return noPage(new Error('the page left for an empty one'));
  const failure = requests.navigation?.failure()?.errorText;
  // The response ended before the first byte of the document: Chromium never paints such a page.
  if (failure !== undefined && (await within(world.evaluate(hasNoDocument), ANSWER_MS)) === true)
    return new Refusal(failure);
  const response = requests.navigation?.response();
  const status = response?.status() ?? 0;
  if (status < 400) return null;
  if (status === 401 && asksUser(response?.headers()['www-authenticate'] ?? ''))
    return new Refusal('net::ERR_INVALID_AUTH_CREDENTIALS');
  const empty = await within(world.evaluate(hasEmptyBody), ANSWER_MS);
  return empty === true ? new Refusal(`status ${status} without a page`) : null;
}

/** @throws ServiceError when the document is not the target's page */
export async function assertPage(
  renderPage: Pick<RenderPage, 'page' | 'world' | 'proxy'>,
  requests: Requests,
  limits: Limits,
): Promise<void> {
  const refusal = await refusalOf(renderPage, requests);
  if (refusal !== null) throw await explainNavigation(refusal, renderPage, requests, limits);
}

/**
 * Returns the error for a page that could not be loaded.
 *
 * @param cause the browser's error
 */
export async function explainNavigation(
  cause: unknown,
  { page, proxy }: Pick<RenderPage, 'page' | 'proxy'>,
  requests: Requests,
  { egress, signal, deadline }: Limits,
): Promise<unknown> {
  if (cause instanceof ServiceError || cause instanceof BrowserLost) return cause;
  const text = cause instanceof Error ? cause.message : '';
  // Not caused by the target: the pool knows whether the browser was lost.
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
    // A page that crashes aborts its navigation too, and does not answer.
    if (!(await stillAnswers(page))) return cause;
    // A download has a status. A redirect to a scheme that only scripts or programs open (`javascript:`, `mailto:`) has none.
    const answered = (requests.navigation?.response() ?? null) !== null || requests.status === NOT_MODIFIED;
    return answered ? noPage(cause) : new ServiceError('target_refused', { cause });
  }
  try {
    // The proxy's answer to the browser does not name the reason.
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

/** The response has no content or is a download. */
export const noPage = (cause?: unknown): ServiceError =>
  new ServiceError('unsupported_source', {
    detail:
      'The target sent no page: no content (status 204 or 304, or a script that empties the page), or a file to download.',
    cause,
  });
