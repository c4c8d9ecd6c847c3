import { keepPresentation } from './page/printed.ts';
import type { RenderPage } from './pool.ts';
import { tryFor } from './tryFor.ts';

const ANSWER_MS = 2_000;

/**
 * Stops the scripts of a page for good. To capture beyond the viewport, Chromium makes the viewport one CSS pixel wide for a moment
 * before each tile, and a print lays out the page in another viewport: scripts that follow its size, or that of an element, would
 * change the page for it. The page still looks like one whose scripts run.
 *
 * @param media names in media queries whose answer must not change either, separated by `|`
 * @param ms longest time in milliseconds for what keeps the page as it is
 */
export async function stopScripts(
  { client, world }: Pick<RenderPage, 'client' | 'world'>,
  media = '',
  ms = ANSWER_MS,
): Promise<void> {
  const names = ['scripting', media].filter((name) => name !== '').join('|');
  await tryFor(world.evaluate(keepPresentation, names), ms);
  await client.send('Emulation.setScriptExecutionDisabled', { value: true });
}
