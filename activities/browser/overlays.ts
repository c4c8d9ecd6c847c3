import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { filterCompactRules, type IndexedCMPRuleset } from '@duckduckgo/autoconsent';
import type { Frame } from 'puppeteer';
import { findClosedRoots } from './closedRoots.ts';
import { OVERLAY_PATTERNS } from './overlayPatterns.ts';
import { answerConsent, listenToConsent } from './page/consent.ts';
import * as elements from './page/elements.ts';
import * as candidate from './page/overlays/candidate.ts';
import * as classification from './page/overlays/classify.ts';
import * as consent from './page/overlays/consent.ts';
import * as frames from './page/overlays/consentFrame.ts';
import * as controls from './page/overlays/controls.ts';
import * as hiding from './page/overlays/hideOverlayElements.ts';
import * as part from './page/overlays/pageParts.ts';
import * as promotion from './page/overlays/promotion.ts';
import * as text from './page/overlays/text.ts';
import { unlockPage } from './page/overlays/unlockPage.ts';
import type { RenderPage } from './pool.ts';
import { tryFor } from './tryFor.ts';

/** Time limit for finding and answering a consent dialog by autoconsent's rules, in milliseconds. */
const CONSENT_MS = 4_000;
const HIDE_MS = 3_000;

const { resolve } = createRequire(import.meta.url);
/** autoconsent's content script for use without a browser extension. */
const SCRIPT = readFileSync(
  join(dirname(resolve('@duckduckgo/autoconsent')), 'autoconsent.playwright.js'),
  'utf8',
);
const RULES: IndexedCMPRuleset = JSON.parse(
  readFileSync(resolve('@duckduckgo/autoconsent/rules/compact-rules.json'), 'utf8'),
);

/** All functions that `hideOverlayElements` calls. They must be defined in the page under their names. */
const FUNCTIONS = [text, controls, candidate, part, consent, promotion, classification, hiding].flatMap(
  (module) => Object.values(module),
);
const PATTERNS = JSON.stringify(OVERLAY_PATTERNS);

/** Source code that decides whether the document of a frame is a consent dialog. */
const IS_CONSENT_FRAME = `(() => {
${[...Object.values(elements), ...FUNCTIONS, frames.isConsentFrame].map(String).join('\n')}
return isConsentFrame(${JSON.stringify(PATTERNS)});
})()`;

/** Hides a frame that asks for consent over the page. @returns whether it did so */
async function hideConsentFrame(frame: Frame): Promise<boolean> {
  if ((await frame.evaluate(IS_CONSENT_FRAME)) !== true) return false;
  await using element = await frame.frameElement();
  return (await element?.evaluate(frames.hideFrameOver)) ?? false;
}

/** Hides the frames that ask for consent over the page. @returns whether there was one */
async function hideConsentFrames(page: RenderPage['page']): Promise<boolean> {
  const main = page.mainFrame();
  const others = page.frames().filter((frame) => frame !== main);
  const hidden = await Promise.all(others.map((frame) => tryFor(hideConsentFrame(frame), HIDE_MS)));
  return hidden.includes(true);
}

/** Hides overlays by heuristics. @returns the number of hidden elements */
export async function hideByHeuristics(world: RenderPage['world']): Promise<number> {
  await world.define(FUNCTIONS);
  return world.evaluate(hiding.hideOverlayElements, PATTERNS);
}

/** Answers a consent dialog in a frame by autoconsent's rules. @returns whether a dialog was found and answered */
async function answer(frame: Frame, mainFrame: boolean): Promise<boolean> {
  const url = frame.url();
  const compact = filterCompactRules(RULES, { url, mainFrame });
  if (!(await frame.evaluate(listenToConsent))) return false;
  await frame.evaluate(SCRIPT);
  return frame.evaluate(answerConsent, JSON.stringify({ compact }), CONSENT_MS);
}

/** Declines the consent dialogs that autoconsent's rules describe. @returns whether there was one */
export async function answerDialogs(page: RenderPage['page']): Promise<boolean> {
  const main = page.mainFrame();
  const answered = await Promise.all(
    page.frames().map((frame) => tryFor(answer(frame, frame === main), CONSENT_MS + HIDE_MS)),
  );
  return answered.includes(true);
}

/**
 * Removes overlays: declines consent dialogs that autoconsent's rules describe, then hides other overlays by
 * heuristics.
 */
export async function hideOverlays({
  page,
  world,
  client,
}: Pick<RenderPage, 'page' | 'world' | 'client'>): Promise<void> {
  const dialogs = await answerDialogs(page);
  const answered = (await hideConsentFrames(page)) || dialogs;
  await findClosedRoots(client, world);
  const hidden = await tryFor(hideByHeuristics(world), HIDE_MS);
  if (answered || (hidden ?? 0) > 0) await tryFor(world.evaluate(unlockPage), HIDE_MS);
}
