import { type Page, TimeoutError } from 'puppeteer';
import { ServiceError } from '../../schemas/errors.ts';
import { isEmpty, isVoid } from './page/settled.ts';
import type { Limits, Tab } from './pool.ts';
import { BrowserLost } from './pool.ts';
import type { Requests } from './requests.ts';
import { within } from './within.ts';

/** Where Chromium itself will not go, as its `net_error_list.h` names it. */
const REFUSED =
  /ERR_(UNSAFE_REDIRECT|UNSAFE_PORT|DISALLOWED_URL_SCHEME|UNKNOWN_URL_SCHEME|BLOCKED_BY_CLIENT|ACCESS_DENIED)\b/;
/** Challenges (RFC 9110 section 11.6.1) that a browser asks its user about; of any other it shows the page. */
const ASKS_USER = /^\s*(?:basic|digest|negotiate|ntlm)\b/i;
const asksUser = (header: string): boolean => header.split(/[,\n]/).some((part) => ASKS_USER.test(part));
const TLS = /ERR_(CERT_\w+|SSL_\w+|BAD_SSL\w*|TLS\w*)/;

const ANSWER_MS = 3_000;

const stillAnswers = async (page: Page): Promise<boolean> =>
  (await within(
    page.evaluate(() => true),
    ANSWER_MS,
  )) === true;

const failed = (detail: string, cause: unknown) => new ServiceError('target_failed', { detail, cause });

/** Chromium with windows puts pages of its own in the place of these; chromium-headless-shell shows nothing. */
async function refusalOf(
  { page, world }: Pick<Tab, 'page' | 'world'>,
  requests: Requests,
): Promise<Error | null> {
  if (page.url().startsWith('chrome-error:')) return new Error('the page left for one that failed');
  if (page.url().startsWith('about:')) return noPage(new Error('the page left for an empty one'));
  const failure = requests.navigation?.failure()?.errorText;
  // It broke off, and before there was anything to draw: such a tab never is.
  if (failure !== undefined && (await within(world.evaluate(isVoid), ANSWER_MS)) === true)
    return new Error(failure);
  const response = requests.navigation?.response();
  const status = response?.status() ?? 0;
  if (status < 400) return null;
  if (status === 401 && asksUser(response?.headers()['www-authenticate'] ?? ''))
    return new Error('net::ERR_INVALID_AUTH_CREDENTIALS');
  const empty = await within(world.evaluate(isEmpty), ANSWER_MS);
  return empty === true ? new Error(`status ${status} without a page`) : null;
}

/** @throws ServiceError when what the tab holds is not the target's page */
export async function assertPage(
  tab: Pick<Tab, 'page' | 'world' | 'proxy'>,
  requests: Requests,
  limits: Limits,
): Promise<void> {
  const refusal = await refusalOf(tab, requests);
  if (refusal !== null) throw await explainNavigation(refusal, tab, requests, limits);
}

/**
 * What the caller is told of a page that did not come.
 *
 * @param cause what the browser said
 */
export async function explainNavigation(
  cause: unknown,
  { page, proxy }: Pick<Tab, 'page' | 'proxy'>,
  requests: Requests,
  { egress, signal, deadline }: Limits,
): Promise<unknown> {
  if (cause instanceof ServiceError || cause instanceof BrowserLost) return cause;
  if (cause instanceof TimeoutError) return new ServiceError('target_timeout', { cause });
  const text = cause instanceof Error ? cause.message : '';
  // Not the target's doing: the pool knows what became of the browser.
  if (!text.includes('net::') && /closed|crashed|detached/i.test(text)) return cause;
  const url = requests.navigation?.url() ?? '';
  if (REFUSED.test(text) || proxy.refused.has(URL.parse(url)?.hostname ?? ''))
    return new ServiceError('target_refused', { cause });
  if (proxy.exhausted)
    return new ServiceError('source_too_large', { detail: 'The page loads more than 200 MB.', cause });
  if (TLS.test(text)) return failed(`TLS with the target failed (${TLS.exec(text)?.[0]}).`, cause);
  if (text.includes('ERR_TOO_MANY_REDIRECTS')) return failed('The target redirects without end.', cause);
  if (text.includes('ERR_INVALID_AUTH_CREDENTIALS'))
    return failed('The target asks for a user name and a password.', cause);
  if (text.includes('ERR_ABORTED')) {
    // A tab that is crashing aborts its navigation too, and answers nothing any more.
    if (!(await stillAnswers(page))) return cause;
    // What is no page has a status. A redirect to what only scripts or programs open (`javascript:`, `mailto:`) has none.
    const answered = (requests.navigation?.response() ?? null) !== null;
    return answered ? noPage(cause) : new ServiceError('target_refused', { cause });
  }
  try {
    // The proxy tells the browser no more than that it failed.
    await egress.vet(egress.parseTarget(url, { kind: 'url', pointer: '/url' }), { signal, deadline });
  } catch (error) {
    return error instanceof ServiceError && error.code !== 'invalid_input' ? error : failed(text, cause);
  }
  const status = requests.navigation?.response()?.status();
  if (status === 504 || /ERR_(CONNECTION_)?TIMED_OUT/.test(text))
    return new ServiceError('target_timeout', { cause });
  if (status !== undefined && status >= 400 && status !== 502)
    return failed(`The target answers status ${status} and no page.`, cause);
  return new ServiceError('target_failed', { cause });
}

/** The address gives something that is no page: nothing at all, or a file to save. */
export const noPage = (cause?: unknown): ServiceError =>
  new ServiceError('unsupported_source', {
    detail:
      'The target answers no page: nothing at all (status 204, or a script that empties it), or a file to download.',
    cause,
  });
