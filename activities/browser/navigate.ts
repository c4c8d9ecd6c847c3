import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../schemas/errors.ts';
import { assertPage, explainNavigation, noPage } from './failure.ts';
import { hasNoDocument } from './page/settled.ts';
import type { Limits, RenderPage } from './pool.ts';
import type { Requests } from './requests.ts';
import { tryFor } from './tryFor.ts';

const LOAD_MS = 30_000;
/** Content types that Chromium opens in a viewer of its own instead of as a page. */
const NO_PAGE = /^application\/pdf\b/i;
/** A renderer process that does not answer within this time counts as busy. */
const ANSWER_MS = 3_000;

/** Returns the milliseconds that a page may take to load in a call with this deadline. */
export type LoadTime = (limits: Pick<Limits, 'deadline'>) => number;

/** Grants at most half of the time until the deadline, so that enough remains to capture the page. */
export const loadTimeBefore: LoadTime = ({ deadline }) =>
  Math.max(1, Math.min(LOAD_MS, (deadline - Date.now()) / 2));

/** Thrown when a page exceeds the time limit for loading. */
class LoadTimeout extends Error {
  override readonly name = 'LoadTimeout';
}

/**
 * Rejects with LoadTimeout `ms` milliseconds after Chromium's first connection to the proxy. Before that connection the
 * target cannot answer.
 */
async function loadTimeout(
  { proxy }: Pick<RenderPage, 'proxy'>,
  ms: number,
  signal: AbortSignal,
): Promise<never> {
  await proxy.contacted;
  await sleep(ms, undefined, { signal });
  throw new LoadTimeout('the page did not load in time');
}

/**
 * Loads a page. A page that has begun to render but never fires `load` is accepted, and so is a page whose `load` event
 * waits only for slow fonts.
 *
 * @param loadMs milliseconds that the target may take
 * @param loadTime determines how many of them remain now
 * @throws ServiceError `target_timeout` when the browser still waits for the target after that time; `deadline_exceeded`
 *   when the target has sent a page that does not show; the errors of `explainNavigation`
 */
export async function navigate(
  renderPage: RenderPage,
  requests: Requests,
  url: string,
  { loadMs, loadTime, ...limits }: Limits & { loadMs: number; loadTime: LoadTime },
): Promise<void> {
  const { page, world, proxy } = renderPage;
  const ended = new AbortController();
  const grantedMs = Math.min(loadMs, loadTime(limits));
  const loading = page.goto(url, { timeout: 0, waitUntil: 'load' });
  const late = loadTimeout(renderPage, grantedMs, AbortSignal.any([limits.signal, ended.signal]));
  // The promises that lose the race below may still reject; these handlers prevent unhandled rejections.
  for (const promise of [loading, late]) promise.catch(() => undefined);
  try {
    const response = await Promise.race([loading, late, requests.fontsAreSlow(ended.signal)]);
    if (NO_PAGE.test(response?.headers()['content-type'] ?? '')) throw noPage();
    await assertPage(renderPage, requests, limits);
  } catch (error) {
    if (!(error instanceof LoadTimeout)) throw await explainNavigation(error, renderPage, requests, limits);
    const begun = /^https?:/.test(page.url());
    const empty = begun && (await tryFor(world.evaluate(hasNoDocument), ANSWER_MS)) === true;
    if (begun && !empty) return;
    // Chromium shows a page as soon as the body of its response begins. The proxy sees whether it has begun, except in
    // a TLS tunnel, where the response headers that Chromium reports are used instead.
    const { navigation } = requests;
    const isTls = navigation?.url().startsWith('https:') === true;
    const wasWaiting = proxy.isWaiting;
    // A browser that hangs may not have read a response that has arrived, so the target is not to blame.
    const answers = (await tryFor(page.browser().version(), ANSWER_MS)) !== undefined;
    // Between two redirects the proxy waits for nothing for a moment.
    const isWaiting = wasWaiting || proxy.isWaiting;
    const answered = !begun && (!isWaiting || (isTls && navigation?.response() != null));
    throw new ServiceError(answers && !answered ? 'target_timeout' : 'deadline_exceeded', { cause: error });
  } finally {
    ended.abort();
  }
}
