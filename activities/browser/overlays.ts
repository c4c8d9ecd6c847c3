import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { filterCompactRules, type IndexedCMPRuleset } from '@duckduckgo/autoconsent';
import type { Frame } from 'puppeteer';
import { isRecord } from '../../schemas/isRecord.ts';
import { findClosedRoots, findRootsOfFrames } from './closedRoots.ts';
import { OVERLAY_PATTERNS } from './overlayPatterns.ts';
import { answerConsent, confirmAnswer, listenToConsent } from './page/consent.ts';
import * as elements from './page/elements.ts';
import * as candidate from './page/overlays/candidate.ts';
import type { OverlayKind } from './page/overlays/classify.ts';
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

/** How an overlay was removed, by the name of a rule of autoconsent or by `heuristic:` and the kind of overlay. */
export interface RemovedOverlay {
  action: 'rejected' | 'closed' | 'hidden';
  rule: string;
}

/** Time limit for finding and answering a consent dialog by autoconsent's rules, in milliseconds. */
const CONSENT_MS = 4_000;
/** Time limit for the test with which a rule confirms its answer, in milliseconds. */
const CONFIRM_MS = 1_500;
const HIDE_MS = 3_000;
const ANSWER_MS = 1_000;
const RULE_CHARACTERS = 100;

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

/** Rule of frames that ask for consent over the page. */
const CONSENT_FRAME: RemovedOverlay = { action: 'hidden', rule: 'heuristic:consent' };

/** Hides a frame that asks for consent over the page. @returns whether it did so; null if its text is not known */
async function hideConsentFrame(frame: Frame): Promise<boolean | null> {
  const asks = await frame.evaluate(IS_CONSENT_FRAME);
  if (asks === null) return null;
  if (asks !== true) return false;
  await using element = await frame.frameElement();
  return (await element?.evaluate(frames.hideFrameOver)) ?? false;
}

/** Hides the frames that ask for consent over the page. */
async function hideConsentFrames({
  page,
  client,
}: Pick<RenderPage, 'page' | 'client'>): Promise<RemovedOverlay[]> {
  const main = page.mainFrame();
  const hideIn = (others: readonly Frame[]) =>
    Promise.all(others.map((frame) => tryFor(hideConsentFrame(frame), HIDE_MS)));
  const others = page.frames().filter((frame) => frame !== main);
  const hidden = await hideIn(others);
  const unknown = others.filter((_, index) => hidden[index] === null);
  if (unknown.length > 0) await findRootsOfFrames(client);
  const found = [...hidden, ...(await hideIn(unknown))];
  return found.flatMap((isHidden) => (isHidden === true ? CONSENT_FRAME : []));
}

/** Hides overlays by heuristics. @returns the kind of each hidden element */
export async function hideByHeuristics(world: RenderPage['world']): Promise<OverlayKind[]> {
  await world.define(FUNCTIONS);
  return world.evaluate(hiding.hideOverlayElements, PATTERNS);
}

/**
 * Says how a rule removed a dialog.
 *
 * @param answer an `Answer` that scripts of the page may have changed, or null
 * @param confirmed result of the rule's own test, if it has one that ended
 */
function describeAnswer(answer: Record<string, unknown>, confirmed: boolean | null): RemovedOverlay {
  const rule = [...String(answer.rule)].slice(0, RULE_CHARACTERS).join('').toWellFormed();
  if (answer.onlyHid === true) return { action: 'hidden', rule };
  const isRefused = answer.cosmetic === false && confirmed !== false;
  return { action: isRefused ? 'rejected' : 'closed', rule };
}

/** Answers a consent dialog in a frame by autoconsent's rules. @returns null if no dialog was found and answered */
async function answer(frame: Frame, mainFrame: boolean): Promise<RemovedOverlay | null> {
  const url = frame.url();
  const compact = filterCompactRules(RULES, { url, mainFrame });
  if (!(await frame.evaluate(listenToConsent))) return null;
  await frame.evaluate(SCRIPT);
  const rules = JSON.stringify({ compact });
  const until = Date.now() + CONSENT_MS + CONFIRM_MS;
  const found = await tryFor(frame.evaluate(answerConsent, rules, CONSENT_MS), CONSENT_MS + ANSWER_MS);
  if (!isRecord(found) || typeof found.rule !== 'string') return null;
  const left = Math.max(0, Math.min(CONFIRM_MS, until - Date.now()));
  // The frame of an answered dialog can be gone.
  const confirmed = await tryFor(frame.evaluate(confirmAnswer, left), left + ANSWER_MS);
  return describeAnswer(found, confirmed ?? null);
}

/** Declines the consent dialogs that autoconsent's rules describe. */
export async function answerDialogs(page: RenderPage['page']): Promise<RemovedOverlay[]> {
  const main = page.mainFrame();
  const answered = await Promise.all(
    page.frames().map((frame) => tryFor(answer(frame, frame === main), CONSENT_MS + CONFIRM_MS + HIDE_MS)),
  );
  return answered.flatMap((dialog) => dialog ?? []);
}

type OverlayPage = Pick<RenderPage, 'page' | 'world' | 'client'>;

/**
 * Hides overlays that were not answered, and releases the page.
 *
 * @param answered the dialogs that were answered before
 * @returns the overlays that were hidden, without backdrops
 */
export async function hideUnanswered(
  { page, world, client }: OverlayPage,
  answered: readonly RemovedOverlay[],
): Promise<RemovedOverlay[]> {
  const frames = await hideConsentFrames({ page, client });
  await findClosedRoots(client, world);
  const kinds = (await tryFor(hideByHeuristics(world), HIDE_MS)) ?? [];
  if (answered.length + frames.length + kinds.length > 0) await tryFor(world.evaluate(unlockPage), HIDE_MS);
  const elements = kinds
    .filter((kind) => kind !== 'backdrop')
    .map((kind): RemovedOverlay => ({ action: 'hidden', rule: `heuristic:${kind}` }));
  return [...frames, ...elements];
}

/**
 * Removes overlays: declines consent dialogs that autoconsent's rules describe, then hides other overlays by
 * heuristics.
 */
export async function hideOverlays(overlayPage: OverlayPage): Promise<RemovedOverlay[]> {
  const answered = await answerDialogs(overlayPage.page);
  return [...answered, ...(await hideUnanswered(overlayPage, answered))];
}
