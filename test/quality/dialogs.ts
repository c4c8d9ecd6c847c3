import { DEBIAN_LISTS } from '../../activities/browser/ads.ts';
import type { RemovedOverlay } from '../../activities/browser/overlays.ts';
import { answerDialogs, hideOverlays, hideUnanswered } from '../../activities/browser/overlays.ts';
import type { RenderPage } from '../../activities/browser/pool.ts';
import { visibleTexts } from '../helpers/overlayChecks.ts';
import { createRandom } from '../helpers/random.ts';
import { makeHeuristicPage } from './dialogs/heuristicPages.ts';
import { countVisible, type MadePage, makeRulePages, openMadePages } from './dialogs/madePages.ts';
import { makeUnharmedPage, UNHARMED_KINDS } from './dialogs/unharmedPages.ts';
import { waysOf } from './overlays.ts';
import type { Report } from './report.ts';
import { table } from './table.ts';

const WANTED = 0.95;
const SEED = 39;
/** Number of browsers. Most of the time of a page is spent in waiting. */
const SLOTS = 4;
const TOOL = 'website-screenshot';
const ALONE = 'autoconsent alone';

interface Overlaid extends MadePage {
  name: string;
  rule: string | null;
}
interface Result {
  made: Overlaid;
  /** Ways that leave no part of the overlay visible, and the content of the page. */
  free: ReadonlySet<string>;
  removed: readonly RemovedOverlay[];
}

async function isFree({ page }: RenderPage): Promise<boolean> {
  return (await countVisible(page)) === 0 && (await visibleTexts(page)).includes('The last ferry');
}

/** Removes the overlay as the tool does, in its two steps. */
async function measureTool(renderPage: RenderPage): Promise<Pick<Result, 'free' | 'removed'>> {
  const free = new Set<string>();
  if ((await countVisible(renderPage.page)) === 0) throw new Error('the overlay is not visible at first');
  const answered = await answerDialogs(renderPage.page);
  if (await isFree(renderPage)) free.add(ALONE);
  const hidden = await hideUnanswered(renderPage, answered);
  if (await isFree(renderPage)) free.add(TOOL);
  return { free, removed: [...answered, ...hidden] };
}

/** How the overlay of a page was removed, in one word for the table. */
function outcomeOf({ made, free, removed }: Result): string {
  if (!free.has(TOOL)) return 'still visible';
  const byRule = removed.find(({ rule }) => rule === made.rule);
  const byOther = removed.find(({ rule }) => !rule.startsWith('heuristic:'));
  if (byRule !== undefined) return `${byRule.action} by the rule`;
  return byOther === undefined ? 'hidden by heuristics' : `${byOther.action} by another rule`;
}
const OUTCOMES = [
  ...['rejected by the rule', 'closed by the rule', 'hidden by the rule'],
  ...['rejected by another rule', 'closed by another rule', 'hidden by another rule'],
  ...['hidden by heuristics', 'still visible'],
];

/** Numbers of pages to make. */
interface Counts {
  rules: number;
  heuristic: number;
  unharmed: number;
}

/**
 * Measures the removal of dialogs that are made from the rules of autoconsent, of overlays that no rule describes, and
 * whether pages without overlays stay as they are.
 */
export async function compareDialogs(
  counts: Counts = { rules: 500, heuristic: 100, unharmed: 200 },
): Promise<Report> {
  await using pages = await openMadePages(SLOTS);
  const random = createRandom(SEED);
  const ofRules = makeRulePages(counts.rules, random).map((made) => ({ ...made, name: made.rule }));
  const heuristic = Array.from({ length: counts.heuristic }, (_, index) => ({
    ...makeHeuristicPage(index, random),
    rule: null,
  }));
  const clean = Array.from({ length: counts.unharmed }, (_, index) => makeUnharmedPage(index, random));
  const { [ALONE]: alone, ...all } = await waysOf([DEBIAN_LISTS]);
  const others = Object.entries(all).filter(([name]) => name.startsWith('cosmetic filters'));

  const measure = async (made: Overlaid): Promise<Result> => {
    const { free, removed } = await pages.show(made, measureTool);
    const found = new Set(free);
    for (const [name, remove] of others)
      await pages.show(made, async (renderPage) => {
        await remove(renderPage);
        if (await isFree(renderPage)) found.add(name);
      });
    return { made, free: found, removed };
  };
  const rules = await Promise.all(ofRules.map(measure));
  const unruled = await Promise.all(heuristic.map(measure));

  /** Returns the ways that leave the page as it was. */
  const measureClean = async ({ name, html }: (typeof clean)[number]) => {
    const url = 'https://harbour.example/';
    const made: MadePage = { url, documents: new Map([[url, html]]) };
    const ways: [string, typeof hideOverlays][] = [[TOOL, hideOverlays]];
    const unchanged = new Set<string>();
    for (const [way, remove] of [
      ...ways,
      ...others,
      ...(alone === undefined ? [] : [[ALONE, alone] as const]),
    ])
      await pages.show(made, async (renderPage) => {
        const { page } = renderPage;
        const before = await page.screenshot({ optimizeForSpeed: true });
        const removed = await remove(renderPage);
        const after = await page.screenshot({ optimizeForSpeed: true });
        const isSilent = !Array.isArray(removed) || removed.length === 0;
        if (isSilent && Buffer.compare(before, after) === 0) unchanged.add(way);
      });
    return { name, unchanged };
  };
  const unharmed = await Promise.all(clean.map(measureClean));

  const share = (results: readonly Result[], way: string): number =>
    results.filter(({ free }) => free.has(way)).length;
  const ways = [TOOL, ALONE, ...others.map(([name]) => name)];
  const figures = ways.map((way) => ({
    way,
    rules: share(rules, way),
    heuristic: share(unruled, way),
    unchanged: unharmed.filter((each) => each.unchanged.has(way)).length,
  }));
  const rows = figures.map(({ way, rules: ruled, heuristic: other, unchanged }) => [
    way,
    `${ruled} of ${rules.length}`,
    `${other} of ${unruled.length}`,
    `${unchanged} of ${clean.length}`,
  ]);
  const nothing = [
    'no removal',
    `0 of ${rules.length}`,
    `0 of ${unruled.length}`,
    `${clean.length} of ${clean.length}`,
  ];
  const outcomes = OUTCOMES.map((outcome) => [
    outcome,
    rules.filter((result) => outcomeOf(result) === outcome).length,
    unruled.filter((result) => outcomeOf(result) === outcome).length,
  ]);
  const failures = [
    ...[...rules, ...unruled]
      .filter(({ free }) => !free.has(TOOL))
      .map(({ made }) => `- still visible: ${made.name}`),
    ...unharmed.filter(({ unchanged }) => !unchanged.has(TOOL)).map(({ name }) => `- changed: ${name}`),
  ];
  const byHeuristics = rules.filter((result) => !/by the rule/.test(outcomeOf(result)));
  const first = figures[0];
  const isGood =
    first !== undefined &&
    first.rules >= WANTED * rules.length &&
    first.heuristic >= WANTED * unruled.length &&
    first.unchanged === clean.length;
  const anchors = `${table(['pages free of their overlays', 'dialogs of rules', 'without a rule', 'clean pages that look the same'], [...rows, nothing])}

How website-screenshot removed them, as its output says:

${table(['', 'dialogs of rules', 'without a rule'], outcomes)}`;
  const text = `# Removal of overlays: dialogs made from rules

Made by \`npm run quality -- dialogs\`, with seed ${SEED}. ${rules.length} dialogs are made from rules of autoconsent, ${unruled.length} overlays have no rule, and
${clean.length} pages of ${UNHARMED_KINDS.length} kinds have none.

${table(['pages free of their overlays', 'dialogs of rules', 'without a rule', 'clean pages that look the same'], [...rows, nothing])}

${table(['', 'dialogs of rules', 'without a rule'], outcomes)}

## Failures

${failures.length === 0 ? 'None.' : failures.join('\n')}

## Dialogs of rules that the rule did not remove

${byHeuristics.map((result) => `- ${result.made.name}: ${outcomeOf(result)}`).join('\n')}
`;
  return {
    figures,
    document: { name: 'dialogs.md', text },
    anchors: { name: 'hide-overlays', text: anchors },
    isGood,
  };
}
