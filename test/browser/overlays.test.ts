import test from 'ava';
import type { Page } from 'puppeteer';
import { hideOverlays } from '../../activities/browser/overlays.ts';
import type { RenderPage } from '../../activities/browser/pool.ts';
import { keepPicture } from '../helpers/artefacts.ts';
import { openBrowsers, startSite } from '../helpers/browser.ts';
import { soon } from '../helpers/egress.ts';
import { createGate } from '../helpers/gate.ts';
import { visibleElements, visibleTexts } from '../helpers/overlayChecks.ts';
import { MORE_CLEAN_PAGES } from './cleanPages.ts';
import { MORE_OVERLAYS } from './moreOverlays.ts';
import { LANGUAGE_PAGES } from './overlayLanguages.ts';
import { CLEAN_PAGES, OVERLAY_PAGES } from './overlayPages.ts';

const OVERLAYS = [...OVERLAY_PAGES, ...MORE_OVERLAYS, ...LANGUAGE_PAGES];
const CLEAN = [...CLEAN_PAGES, ...MORE_CLEAN_PAGES];
const site = await startSite(
  Object.fromEntries([...OVERLAYS, ...CLEAN].map(({ name, html }) => [`/${encodeURIComponent(name)}`, html])),
);
const SLOTS = 2;
const resource = await openBrowsers({ slots: SLOTS });
/**
 * Limits the number of concurrent pages to the number of browsers, so that the timeout of a page starts when a browser
 * is free.
 */
const gate = createGate(SLOTS);
test.after.always(async () => {
  await resource[Symbol.asyncDispose]();
  site.close();
});

async function onPage<T>(name: string, work: (renderPage: RenderPage) => Promise<T>): Promise<T> {
  return gate(() =>
    resource.run({ egress: site.guard(), ...soon() }, async (renderPage) => {
      const { page } = renderPage;
      await page.setViewport({ width: 1200, height: 800 });
      await page.goto(`${site.origin}/${encodeURIComponent(name)}`, { waitUntil: 'load' });
      return work(renderPage);
    }),
  );
}
async function picture(page: Page, name: string, moment: string): Promise<void> {
  keepPicture('overlays', `${name} ${moment}`, await page.screenshot({ optimizeForSpeed: true }));
}

test('the test data has at least 50 pages with overlays and 50 without', (t) => {
  t.true(OVERLAYS.length >= 50, `${OVERLAYS.length}`);
  t.true(CLEAN.length >= 50, `${CLEAN.length}`);
});

for (const { name, gone } of OVERLAYS)
  test(`the overlays of the page are hidden: ${name}`, async (t) => {
    await onPage(name, async (renderPage) => {
      const { page } = renderPage;
      t.deepEqual(
        await visibleElements(page, gone),
        [...gone],
        'the overlays are visible before the tool hides them',
      );
      await picture(page, name, 'before');
      await hideOverlays(renderPage);
      await picture(page, name, 'after');
      t.deepEqual(await visibleElements(page, gone), []);
      t.true((await visibleTexts(page)).includes('The last ferry'));
      const state = await page.evaluate(() => {
        scrollTo(0, 500);
        const { filter } = getComputedStyle(document.querySelector('main') ?? document.body);
        return { scrolled: scrollY > 0, filter };
      });
      t.deepEqual(state, { scrolled: true, filter: 'none' });
    });
  });

for (const { name } of CLEAN)
  test(`a page without overlays is unchanged: ${name}`, async (t) => {
    await onPage(name, async (renderPage) => {
      const { page } = renderPage;
      const before = await visibleTexts(page);
      t.true(before.length > 0);
      await picture(page, name, 'before');
      await hideOverlays(renderPage);
      await picture(page, name, 'after');
      t.deepEqual(await visibleTexts(page), before);
    });
  });
