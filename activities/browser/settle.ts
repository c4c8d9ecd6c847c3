import type { IsolatedWorld } from './isolatedWorld.ts';
import { canLoadMore, waitUntilPainted } from './page/settled.ts';
import { FONTS_MS, type Requests } from './requests.ts';
import { tryFor } from './tryFor.ts';

/** Milliseconds without a request after which a page counts as loaded; the same as in puppeteer's `networkidle0`. */
const QUIET_MS = 500;
/**
 * Milliseconds without a request after which a page without scripts and frames counts as loaded. Such a page requests
 * nothing after it has loaded.
 */
const STILL_MS = 40;
const SETTLE_MS = 5_000;
const ANSWER_MS = 3_000;
/** Milliseconds for decoding images, finishing transitions and painting, after the fonts have loaded. */
const DRAW_MS = 2_000;

/**
 * Waits until a loaded page has no open requests and is painted, or until the time limit.
 *
 * @returns whether the page was painted in time, which shows that it responds
 */
export async function settle(world: IsolatedWorld, requests: Requests): Promise<boolean> {
  const alive = await tryFor(world.evaluate(canLoadMore), ANSWER_MS);
  await requests.waitForIdle(alive === false ? STILL_MS : QUIET_MS, Date.now() + SETTLE_MS);
  const fontsMs = requests.hasSlowFonts ? 0 : FONTS_MS;
  const done = world.evaluate(waitUntilPainted, fontsMs).then(() => true);
  return (await tryFor(done, fontsMs + DRAW_MS)) === true;
}
