import type { IsolatedWorld } from './isolatedWorld.ts';
import { canLoadMore, waitUntilPainted } from './page/settled.ts';
import { FONTS_MS, type Requests } from './requests.ts';
import { within } from './within.ts';

/** As puppeteer's `networkidle0`. */
const QUIET_MS = 500;
/** Of a page without scripts and frames, where what is loaded is all. */
const STILL_MS = 40;
const SETTLE_MS = 5_000;
const ANSWER_MS = 3_000;
/** For images, transitions and frames after the fonts. */
const DRAW_MS = 2_000;

/**
 * Waits until a loaded page has all it asks for and has drawn it, or until the time for that is up.
 *
 * @returns whether it has drawn it, and so still answers
 */
export async function settle(world: IsolatedWorld, requests: Requests): Promise<boolean> {
  const alive = await within(world.evaluate(canLoadMore), ANSWER_MS);
  await requests.waitForIdle(alive === false ? STILL_MS : QUIET_MS, Date.now() + SETTLE_MS);
  const fontsMs = requests.hasSlowFonts ? 0 : FONTS_MS;
  const done = world.evaluate(waitUntilPainted, fontsMs).then(() => true);
  return (await within(done, fontsMs + DRAW_MS)) === true;
}
