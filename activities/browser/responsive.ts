import type { CDPSession, Page } from 'puppeteer';
import { within } from './within.ts';

const ANSWER_MS = 4_000;

const answers = async (page: Page): Promise<boolean> =>
  (await within(
    page.evaluate(() => true),
    ANSWER_MS,
  )) === true;

/** Stops the scripts of a page that does not respond. Resolves with whether the page responds afterwards. */
export async function ensureResponsive(page: Page, client: CDPSession): Promise<boolean> {
  if (await answers(page)) return true;
  void within(client.send('Emulation.setScriptExecutionDisabled', { value: true }), ANSWER_MS);
  void within(client.send('Page.stopLoading'), ANSWER_MS);
  await within(client.send('Runtime.terminateExecution'), ANSWER_MS);
  return answers(page);
}
