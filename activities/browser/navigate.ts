import { startCountdown } from '../../egress/countdown.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { assertPage, explainNavigation, noPage } from './failure.ts';
import { hasNoDocument } from './page/settled.ts';
import type { Limits, RenderPage } from './pool.ts';
import type { Requests } from './requests.ts';
import { within } from './within.ts';

const LOAD_MS = 30_000;
/** The least share of the load time after which a target without a page was too slow. */
const TARGET_SHARE = 0.9;
/** Chromium opens these in its own viewer. */
const NO_PAGE = /^application\/pdf\b/i;
/** The renderer answers within this time, or it is busy. */
const ANSWER_MS = 3_000;

/** Milliseconds that a page may take to load: at most half of the time left, so that enough remains to capture it. */
export const loadTime = ({ deadline }: Pick<Limits, 'deadline'>): number =>
  Math.max(1, Math.min(LOAD_MS, (deadline - Date.now()) / 2));

/** The time limit for loading was exceeded. `delayed`: this process was too busy to handle the page's events in time. */
class LoadTimeout extends Error {
  override readonly name = 'LoadTimeout';
  readonly delayed: boolean;
  constructor(delayed: boolean) {
    super('the page did not load in time');
    this.delayed = delayed;
  }
}

/** Rejects with LoadTimeout. The time starts with Chromium's first connection: until then the target cannot answer. */
async function loadTimeout(
  { proxy }: Pick<RenderPage, 'proxy'>,
  ms: number,
  signal: AbortSignal,
): Promise<never> {
  await proxy.contacted;
  const { promise, reject } = Promise.withResolvers<never>();
  signal.throwIfAborted();
  const countdown = startCountdown(ms, (end) => reject(new LoadTimeout(end === 'delayed')));
  signal.addEventListener('abort', () => countdown[Symbol.dispose](), { once: true });
  return promise;
}

/**
 * Loads a page. One that has begun but never fires `load` is accepted, and so is one that waits only for slow fonts.
 *
 * @param loadMs how long the target may take
 * @throws ServiceError `target_timeout` when the target had all of that time and sent no page; `deadline_exceeded` when
 *   this service used it up; as `explainNavigation`
 */
export async function navigate(
  renderPage: RenderPage,
  requests: Requests,
  url: string,
  { loadMs, ...limits }: Limits & { loadMs: number },
): Promise<void> {
  const { page, world, proxy } = renderPage;
  const ended = new AbortController();
  const grantedMs = Math.min(loadMs, loadTime(limits));
  const loading = page.goto(url, { timeout: 0, waitUntil: 'load' });
  const late = loadTimeout(renderPage, grantedMs, AbortSignal.any([limits.signal, ended.signal]));
  // The promises that lose the race below may still reject.
  for (const promise of [loading, late]) promise.catch(() => undefined);
  try {
    const response = await Promise.race([loading, late, requests.fontsAreSlow(ended.signal)]);
    if (NO_PAGE.test(response?.headers()['content-type'] ?? '')) throw noPage();
    await assertPage(renderPage, requests, limits);
  } catch (error) {
    if (!(error instanceof LoadTimeout)) throw await explainNavigation(error, renderPage, requests, limits);
    const begun = /^https?:/.test(page.url());
    const empty = begun && (await within(world.evaluate(hasNoDocument), ANSWER_MS)) === true;
    if (begun && !empty) return;
    // Chromium shows a page once its body begins. The proxy sees that, except under TLS, where the headers have to do.
    const { navigation } = requests;
    const isTls = navigation?.url().startsWith('https:') === true;
    const answered = !begun && (!proxy.isWaiting || (isTls && navigation?.response() != null));
    // A frozen browser has not read what came.
    const answers = (await within(page.browser().version(), ANSWER_MS)) !== undefined;
    const waitedMs = Math.min(grantedMs, performance.now() - requests.navigationAt);
    const isSlow = !error.delayed && answers && !answered && waitedMs >= TARGET_SHARE * loadMs;
    throw new ServiceError(isSlow ? 'target_timeout' : 'deadline_exceeded', { cause: error });
  } finally {
    ended.abort();
  }
}
