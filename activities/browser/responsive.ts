import type { CDPSession, Page } from 'puppeteer';
import { tryFor } from './tryFor.ts';

const ANSWER_MS = 4_000;

const answers = async (page: Page): Promise<boolean> =>
  (await tryFor(
    page.evaluate(() => true),
    ANSWER_MS,
  )) === true;

/** Stops the scripts of a page that does not respond. Resolves with whether the page responds afterwards. */
export async function ensureResponsive(page: Page, client: CDPSession): Promise<boolean> {
  if (await answers(page)) return true;
  void tryFor(client.send('Emulation.setScriptExecutionDisabled', { value: true }), ANSWER_MS);
  void tryFor(client.send('Page.stopLoading'), ANSWER_MS);
  await tryFor(client.send('Runtime.terminateExecution'), ANSWER_MS);
  return answers(page);
}
