import type { IsolatedWorld } from './isolatedWorld.ts';
import { canLoadMore, waitUntilPainted } from './page/settled.ts';
import { FONTS_MS, type Requests } from './requests.ts';
import { within } from './within.ts';

/** As puppeteer's `networkidle0`. */
const QUIET_MS = 500;
/** For a page without scripts and frames, which requests nothing after it has loaded. */
const STILL_MS = 40;
const SETTLE_MS = 5_000;
const ANSWER_MS = 3_000;
/** For images, transitions and frames after the fonts. */
const DRAW_MS = 2_000;

/**
 * Waits until the requests of a loaded page are complete and painted, or until the time is over.
 *
 * @returns whether the page was painted in time, which means that it responds
 */
export async function settle(world: IsolatedWorld, requests: Requests): Promise<boolean> {
  const alive = await within(world.evaluate(canLoadMore), ANSWER_MS);
  await requests.waitForIdle(alive === false ? STILL_MS : QUIET_MS, Date.now() + SETTLE_MS);
  const fontsMs = requests.hasSlowFonts ? 0 : FONTS_MS;
  const done = world.evaluate(waitUntilPainted, fontsMs).then(() => true);
  return (await within(done, fontsMs + DRAW_MS)) === true;
}
