import test from 'ava';
import { hideOverlays } from '../../activities/browser/overlays.ts';
import { visibleTexts } from '../helpers/overlayChecks.ts';
import { createRandom } from '../helpers/random.ts';
import { makeHeuristicPage } from '../quality/dialogs/heuristicPages.ts';
import { countVisible, makeRulePages, openMadePages } from '../quality/dialogs/madePages.ts';
import { makeUnharmedPage } from '../quality/dialogs/unharmedPages.ts';

/** The same pages each time: of all that can be made, the tool does not free every one (docs/quality.md). */
const SEED = 39;
const SOME = 10;
const SLOTS = 2;
const pages = await openMadePages(SLOTS);
test.after.always(() => pages[Symbol.asyncDispose]());

test('dialogs made from rules of autoconsent are removed, and the output names the rule', async (t) => {
  const made = makeRulePages(SOME, createRandom(SEED));
  t.is(made.length, SOME);
  const named = await Promise.all(
    made.map((one) =>
      pages.show(one, async (renderPage) => {
        const { page } = renderPage;
        t.true((await countVisible(page)) > 0, `${one.rule} is visible at first`);
        const removed = await hideOverlays(renderPage);
        t.is(await countVisible(page), 0, one.rule);
        t.true((await visibleTexts(page)).includes('The last ferry'), one.rule);
        t.true(removed.length > 0, one.rule);
        return removed.some(({ rule }) => rule === one.rule);
      }),
    ),
  );
  // Rules that take longer than the tool waits leave their dialogs to the heuristics.
  t.true(named.filter(Boolean).length >= SOME / 2, `${named}`);
});

test('overlays without a rule are hidden, and the output names the heuristic', async (t) => {
  const random = createRandom(SEED);
  for (let index = 0; index < 5; index++) {
    const made = makeHeuristicPage(random.integer(0, 99), random);
    await pages.show(made, async (renderPage) => {
      const { page } = renderPage;
      t.true((await countVisible(page)) > 0, `${made.name} is visible at first`);
      const removed = await hideOverlays(renderPage);
      t.is(await countVisible(page), 0, made.name);
      t.true((await visibleTexts(page)).includes('The last ferry'), made.name);
      t.true(removed.length > 0, made.name);
      for (const { action, rule } of removed) {
        t.is(action, 'hidden', made.name);
        t.regex(rule, /^heuristic:(?:banner|consent|dialog|frame|named|promotion)$/, made.name);
      }
    });
  }
});

test('pages without overlays look the same', async (t) => {
  const random = createRandom(SEED);
  for (let index = 0; index < 5; index++) {
    const { name, html } = makeUnharmedPage(random.integer(0, 199), random);
    const url = 'https://harbour.example/';
    await pages.show({ url, documents: new Map([[url, html]]) }, async (renderPage) => {
      const { page } = renderPage;
      const before = await page.screenshot({ optimizeForSpeed: true });
      t.deepEqual(await hideOverlays(renderPage), [], name);
      const after = await page.screenshot({ optimizeForSpeed: true });
      t.is(Buffer.compare(before, after), 0, name);
    });
  }
});
