import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { FiltersEngine } from '@ghostery/adblocker';
import type { Page } from 'puppeteer';
import { DEBIAN_LISTS } from '../../activities/browser/ads.ts';
import { answerDialogs, hideByHeuristics, hideOverlays } from '../../activities/browser/overlays.ts';
import { unlockPage } from '../../activities/browser/page/overlays/unlockPage.ts';
import type { RenderPage } from '../../activities/browser/pool.ts';
import { MORE_CLEAN_PAGES } from '../browser/cleanPages.ts';
import { MORE_OVERLAYS } from '../browser/moreOverlays.ts';
import { LANGUAGE_PAGES } from '../browser/overlayLanguages.ts';
import { CLEAN_PAGES, OVERLAY_PAGES } from '../browser/overlayPages.ts';
import { openBrowsers, startSite } from '../helpers/browser.ts';
import { soon } from '../helpers/egress.ts';
import { visibleElements, visibleTexts } from '../helpers/overlayChecks.ts';
import { idcac } from '../provision/items/comparisons.ts';
import type { Report } from './report.ts';
import { table } from './table.ts';

type Way = (renderPage: RenderPage) => Promise<unknown>;

/** Returns a way that hides what cosmetic filters name, as an ad blocker does. @param folders with the lists */
function cosmeticFilters(folders: readonly string[]): (page: Page) => Promise<void> {
  const lists = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.txt'))
      .map((name) => readFileSync(join(folder, name), 'utf8')),
  );
  const engine = FiltersEngine.parse(lists.join('\n'), { loadNetworkFilters: false });
  return async (page) => {
    const found = await page.evaluate(() => {
      const all = [...document.querySelectorAll('*')];
      return {
        classes: [...new Set(all.flatMap((element) => [...element.classList]))],
        ids: [...new Set(all.map(({ id }) => id).filter((id) => id !== ''))],
        hrefs: [...document.querySelectorAll('a')].map(({ href }) => href),
      };
    });
    const url = page.url();
    const { hostname } = new URL(url);
    const { styles } = engine.getCosmeticsFilters({ url, hostname, domain: hostname, ...found });
    await page.addStyleTag({ content: styles });
  };
}

/** Returns the ways to remove overlays, by their names. @param folders with cosmetic filter lists */
export async function waysOf(folders: readonly string[]): Promise<Record<string, Way>> {
  const filter = cosmeticFilters(folders);
  const { getInjectableScript }: { getInjectableScript(): string } = createRequire(
    join(await idcac.get(console.error), 'package.json'),
  )('idcac-playwright');
  return {
    'autoconsent alone': async ({ page }) => answerDialogs(page),
    'cosmetic filters alone': ({ page }) => filter(page),
    'autoconsent and cosmetic filters': async ({ page }) => {
      await answerDialogs(page);
      await filter(page);
    },
    '"I don’t care about cookies" alone': async ({ page }) => {
      await page.evaluate(getInjectableScript());
      await new Promise((resolve) => setTimeout(resolve, 500));
    },
    'heuristics alone': async ({ world }) => {
      if ((await hideByHeuristics(world)).length > 0) await world.evaluate(unlockPage);
    },
    'autoconsent, then heuristics (the tool)': hideOverlays,
  };
}

/**
 * Compares ways to remove overlays on the pages of test/browser.
 *
 * @param filters a folder of cosmetic filter lists, beside those of Debian
 * @param most number of pages with overlays, and of pages without
 */
export async function compareOverlays(filters?: string, most = Number.POSITIVE_INFINITY): Promise<Report> {
  await using owned = new AsyncDisposableStack();
  const overlays = [...OVERLAY_PAGES, ...MORE_OVERLAYS, ...LANGUAGE_PAGES].slice(0, most);
  const clean = [...CLEAN_PAGES, ...MORE_CLEAN_PAGES].slice(0, most);
  const ways = await waysOf(filters === undefined ? [DEBIAN_LISTS] : [DEBIAN_LISTS, filters]);
  const pages = [...overlays, ...clean].map(({ name, html }) => [`/${encodeURIComponent(name)}`, html]);
  const site = owned.adopt(await startSite(Object.fromEntries(pages)), (it) => it.close());
  const resource = owned.use(await openBrowsers({ slots: 1 }));

  const onPage = <T>(name: string, work: (renderPage: RenderPage) => Promise<T>): Promise<T> =>
    resource.run({ egress: site.guard(), ...soon() }, async (renderPage) => {
      const { page } = renderPage;
      await page.setViewport({ width: 1200, height: 800 });
      await page.goto(`${site.origin}/${encodeURIComponent(name)}`, { waitUntil: 'load' });
      return work(renderPage);
    });

  const figures: { way: string; free: number; unchanged: number }[] = [];
  for (const [way, remove] of Object.entries(ways)) {
    let [free, unchanged] = [0, 0];
    for (const { name, gone } of overlays)
      free += await onPage(name, async (renderPage) => {
        await remove(renderPage);
        const { page } = renderPage;
        const isFree = (await visibleElements(page, gone)).length === 0;
        return Number(isFree && (await visibleTexts(page)).includes('The last ferry'));
      });
    for (const { name } of clean)
      unchanged += await onPage(name, async (renderPage) => {
        const before = await visibleTexts(renderPage.page);
        await remove(renderPage);
        const after = await visibleTexts(renderPage.page);
        return Number(JSON.stringify(after) === JSON.stringify(before));
      });
    figures.push({ way, free, unchanged });
  }
  const rows = figures.map(({ way, free, unchanged }) => [
    way,
    `${free} of ${overlays.length}`,
    `${unchanged} of ${clean.length}`,
  ]);
  const text = `# Removal of overlays: lists beside heuristics

Made by \`npm run quality -- overlays\` on the pages of \`test/browser\`. The cosmetic filters are those of
${filters === undefined ? `\`${DEBIAN_LISTS}\` (EasyList and uBlock)` : `\`${DEBIAN_LISTS}\` and of further lists`}; "I don’t care about cookies" is ${idcac.name}.

${table(['', 'pages free of their overlays', 'pages without overlays left unchanged'], rows)}

The pages were written for this project together with the heuristics: they show which kinds of overlays a method recognises,
but not how often these occur. The lists name sites and products, of which these pages have few. On real sites the lists
therefore do better than here, and the heuristics worse.

## Decision

The heuristics stay, because no list recognises overlays of unknown products, newsletters and interstitials. autoconsent stays
before them, because it declines the dialogs that it knows instead of hiding them, so that sites also show what they withhold
until the visitor has answered. Cosmetic filters stay off: they add one page to those of autoconsent.
`;
  return { figures, document: { name: 'overlays.md', text }, isGood: true };
}
