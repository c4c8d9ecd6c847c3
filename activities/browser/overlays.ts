import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { filterCompactRules, type IndexedCMPRuleset } from '@duckduckgo/autoconsent';
import type { Frame } from 'puppeteer';
import { OVERLAY_PATTERNS } from './overlayPatterns.ts';
import { answerConsent, listenToConsent } from './page/consent.ts';
import * as consent from './page/overlays/consent.ts';
import * as controls from './page/overlays/controls.ts';
import * as hiding from './page/overlays/hide.ts';
import * as judging from './page/overlays/judge.ts';
import * as part from './page/overlays/part.ts';
import * as promotion from './page/overlays/promotion.ts';
import * as sight from './page/overlays/sight.ts';
import * as text from './page/overlays/text.ts';
import { unlockPage } from './page/overlays/unlock.ts';
import type { Tab } from './pool.ts';
import { within } from './within.ts';

/** Rules for the consent dialogs that are known by name: looked for, and answered, in so much time. */
const CONSENT_MS = 4_000;
const HIDE_MS = 3_000;

const { resolve } = createRequire(import.meta.url);
/** The content script of the package, as it runs in a page without an extension around it. */
const SCRIPT = readFileSync(
  join(dirname(resolve('@duckduckgo/autoconsent')), 'autoconsent.playwright.js'),
  'utf8',
);
const RULES: IndexedCMPRuleset = JSON.parse(
  readFileSync(resolve('@duckduckgo/autoconsent/rules/compact-rules.json'), 'utf8'),
);

/** All that `hideOverlayElements` uses in a page. */
const FUNCTIONS = [text, controls, sight, part, consent, promotion, judging, hiding].flatMap((module) =>
  Object.values(module),
);
const PATTERNS = JSON.stringify(OVERLAY_PATTERNS);

/** @returns how many elements were hidden */
async function hideByLooks(world: Tab['world']): Promise<number> {
  await world.bring(FUNCTIONS);
  return world.evaluate(hiding.hideOverlayElements, PATTERNS);
}

/** @returns whether a dialog was found and answered */
async function answer(frame: Frame, mainFrame: boolean): Promise<boolean> {
  const url = frame.url();
  const compact = filterCompactRules(RULES, { url, mainFrame });
  if (!(await frame.evaluate(listenToConsent))) return false;
  await frame.evaluate(SCRIPT);
  return frame.evaluate(answerConsent, JSON.stringify({ compact }), CONSENT_MS);
}

/** Removes what lies over a page: known consent dialogs by declining them, everything else by its looks. */
export async function hideOverlays({ page, world }: Pick<Tab, 'page' | 'world'>): Promise<void> {
  const main = page.mainFrame();
  const answered = await Promise.all(
    page.frames().map((frame) => within(answer(frame, frame === main), CONSENT_MS + HIDE_MS)),
  );
  const hidden = await within(hideByLooks(world), HIDE_MS);
  if (answered.includes(true) || (hidden ?? 0) > 0) await within(world.evaluate(unlockPage), HIDE_MS);
}
