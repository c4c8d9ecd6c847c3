import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
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
import { npmPackages } from '../provision/packages.ts';
import { table } from './table.ts';

/**
 * Compares ways to remove overlays on the pages of test/browser: `node test/quality/overlays.ts`. `QUALITY_FILTERS=<folder>`
 * adds cosmetic filter lists. Writes overlays.md beside this file.
 */

const IDCAC = 'idcac-playwright@0.2.0';

const OVERLAYS = [...OVERLAY_PAGES, ...MORE_OVERLAYS, ...LANGUAGE_PAGES];
const CLEAN = [...CLEAN_PAGES, ...MORE_CLEAN_PAGES];

const folders = [DEBIAN_LISTS, ...(process.env.QUALITY_FILTERS ? [process.env.QUALITY_FILTERS] : [])];
const lists = folders.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.txt'))
    .map((name) => readFileSync(join(folder, name), 'utf8')),
);
const engine = FiltersEngine.parse(lists.join('\n'), { loadNetworkFilters: false });
const packages = await npmPackages('idcac', [IDCAC], 5).get(console.log);
const { getInjectableScript }: { getInjectableScript(): string } = createRequire(
  join(packages, 'package.json'),
)('idcac-playwright');

/** Hides what the cosmetic filters name, as an ad blocker does. */
async function filter(page: Page): Promise<void> {
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
}

const heuristics = async ({ world }: RenderPage): Promise<void> => {
  if ((await hideByHeuristics(world)) > 0) await world.evaluate(unlockPage);
};

const WAYS: Readonly<Record<string, (renderPage: RenderPage) => Promise<unknown>>> = {
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
  'heuristics alone': heuristics,
  'autoconsent, then heuristics (the tool)': hideOverlays,
};

const pages = [...OVERLAYS, ...CLEAN].map(({ name, html }) => [`/${encodeURIComponent(name)}`, html]);
const site = await startSite(Object.fromEntries(pages));
const resource = await openBrowsers({ slots: 1 });

async function onPage<T>(name: string, work: (renderPage: RenderPage) => Promise<T>): Promise<T> {
  return resource.run({ egress: site.guard(), ...soon() }, async (renderPage) => {
    const { page } = renderPage;
    await page.setViewport({ width: 1200, height: 800 });
    await page.goto(`${site.origin}/${encodeURIComponent(name)}`, { waitUntil: 'load' });
    return work(renderPage);
  });
}

const rows: string[][] = [];
for (const [way, remove] of Object.entries(WAYS)) {
  let [free, kept] = [0, 0];
  for (const { name, gone } of OVERLAYS)
    free += await onPage(name, async (renderPage) => {
      await remove(renderPage);
      const { page } = renderPage;
      const isFree = (await visibleElements(page, gone)).length === 0;
      return Number(isFree && (await visibleTexts(page)).includes('The last ferry'));
    });
  for (const { name } of CLEAN)
    kept += await onPage(name, async (renderPage) => {
      const before = await visibleTexts(renderPage.page);
      await remove(renderPage);
      const after = await visibleTexts(renderPage.page);
      return Number(JSON.stringify(after) === JSON.stringify(before));
    });
  rows.push([way, `${free} of ${OVERLAYS.length}`, `${kept} of ${CLEAN.length}`]);
  console.log(rows.at(-1)?.join('  '));
}
await resource[Symbol.asyncDispose]();
site.close();

const text = table(['', 'pages free of their overlays', 'pages without overlays left unchanged'], rows);
writeFileSync(
  new URL('./overlays.md', import.meta.url),
  `# Removal of overlays: lists beside heuristics

Made by \`node test/quality/overlays.ts\` on the pages of \`test/browser\`. The cosmetic filters are those of
${process.env.QUALITY_FILTERS ? `\`${DEBIAN_LISTS}\` and of QUALITY_FILTERS` : `\`${DEBIAN_LISTS}\` (EasyList and uBlock)`}; "I don’t care about cookies" is ${IDCAC}.

${text}

The pages were written for this project together with the heuristics: they show which kinds of overlays a method recognises,
but not how often these occur. The lists name sites and products, of which these pages have few. On real sites the lists
therefore do better than here, and the heuristics worse.

## Decision

The heuristics stay, because no list recognises overlays of unknown products, newsletters and interstitials. autoconsent stays
before them, because it declines the dialogs that it knows instead of hiding them, so that sites also show what they withhold
until the visitor has answered. Cosmetic filters stay off: they add one page to those of autoconsent.
`,
);
