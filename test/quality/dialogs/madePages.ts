import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AutoConsentCMPRule } from '@duckduckgo/autoconsent';
import type { Page } from 'puppeteer';
import { intercept } from '../../../activities/browser/intercept.ts';
import type { Browsers, RenderPage } from '../../../activities/browser/pool.ts';
import { isRecord } from '../../../schemas/isRecord.ts';
import { openBrowsers, startSite } from '../../helpers/browser.ts';
import { soon } from '../../helpers/egress.ts';
import { createGate } from '../../helpers/gate.ts';
import type { Random } from '../../helpers/random.ts';
import { makeRulePage, type RulePage } from './rulePages.ts';
import { Unsupported } from './selectors.ts';

const isRule = (value: unknown): value is AutoConsentCMPRule =>
  isRecord(value) && typeof value.name === 'string' && Array.isArray(value.optOut);

/** Returns the rules of the installed autoconsent. */
export function readRules(): AutoConsentCMPRule[] {
  const file = fileURLToPath(import.meta.resolve('@duckduckgo/autoconsent/rules/rules.json'));
  const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const rules: unknown = isRecord(content) ? content.autoconsent : undefined;
  return Array.isArray(rules) ? rules.filter(isRule) : [];
}

/** Makes pages of rules in a random order. Rules of which no page can be made are left out. */
export function makeRulePages(count: number, random: Random): RulePage[] {
  const rules = readRules().map((rule) => ({ rule, key: random.integer(0, 2 ** 30) }));
  const pages: RulePage[] = [];
  for (const { rule } of rules.toSorted((a, b) => a.key - b.key)) {
    if (pages.length === count) break;
    try {
      pages.push(makeRulePage(rule, random));
    } catch (error) {
      if (!(error instanceof Unsupported)) throw error;
    }
  }
  return pages;
}

/** A page that exists only in the browser, at an address of the internet. */
export interface MadePage {
  url: string;
  /** HTML by address. Other addresses answer nothing. */
  documents: ReadonlyMap<string, string>;
}

const answerFor = ({ documents }: MadePage, url: string) => {
  const body = documents.get(url);
  const contentType = body === undefined ? 'text/plain' : 'text/html; charset=utf-8';
  return { status: 200, contentType, body: body ?? '' };
};

/** Opens browsers in which made pages are shown. No request leaves the machine. */
export async function openMadePages(slots: number) {
  const site = await startSite({});
  const browsers: Browsers = await openBrowsers({ slots });
  // Limits the number of concurrent pages, so that the timeout of a page starts when a browser is free.
  const gate = createGate(slots);
  return {
    show: <T>(made: MadePage, work: (renderPage: RenderPage) => Promise<T>): Promise<T> =>
      gate(() =>
        browsers.run({ egress: site.guard(), ...soon() }, async (renderPage) => {
          const { page } = renderPage;
          await page.setViewport({ width: 1200, height: 800 });
          await intercept(page, (request) => answerFor(made, request.url()));
          await page.goto(made.url, { waitUntil: 'load' });
          return work(renderPage);
        }),
      ),
    async [Symbol.asyncDispose]() {
      await browsers[Symbol.asyncDispose]();
      site.close();
    },
  };
}

/** Returns the number of visible parts of the overlay of a made page. */
export const countVisible = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const tops: unknown = Reflect.get(globalThis, 'madeTops');
    if (!Array.isArray(tops)) throw new Error('the page has not made its overlay');
    return tops.filter((top) => {
      if (!(top instanceof Element) || !top.isConnected) return false;
      const { width, height } = top.getBoundingClientRect();
      return width * height > 0 && top.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    }).length;
  });
