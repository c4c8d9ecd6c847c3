import { remember } from '../remember.ts';
import {
  type Aspect,
  type BlockPage,
  createBlockPage,
  createNumbering,
  featureNames,
  PAIR,
} from './blockPage.ts';
import type { Block, Box } from './blocks.ts';
import type { Families } from './contextFeatures.ts';
import { CORE_FEATURES, describeCores } from './core.ts';
import { describeEntries, ENTRY_FEATURES } from './entries.ts';
import { describeHeadings, HEADING_FEATURES } from './headings.ts';
import { describeKin, KIN_FEATURES } from './kin.ts';
import type { Measures } from './measures.ts';
import { describeNeighbours, NEIGHBOUR_FEATURES } from './neighbours.ts';
import { PHRASE_NAMES } from './phrases.ts';
import { measureSurroundings, SURROUNDING_FEATURES } from './surroundings.ts';
import { createTextReader, type TextFeatures } from './textFeatures.ts';

const TAGS: Readonly<Record<string, RegExp>> = {
  p: /^p$/,
  h2: /^h2$/,
  h3: /^h[3-6]$/,
  li: /^li$/,
  cell: /^t[dh]$/,
  a: /^a$/,
  div: /^(?:div|section|article|main)$/,
  pre: /^(?:pre|code|samp|kbd)$/,
  dt: /^d[tdl]$/,
  button: /^(?:button|label|legend|summary)$/,
  time: /^(?:time|address|cite)$/,
  caption: /^(?:figcaption|caption|figure)$/,
};
const LEVELS = [1, 2, 3, 4, 6, 8];

export const BLOCK_FEATURES = [
  'words',
  'chars',
  'wordLength',
  'linkShare',
  'links',
  'commas',
  'sentences',
  'ends',
  'digits',
  'upper',
  'first',
  'hidden',
  'copies',
  'copyAt',
  'title',
  'meta',
  'data.text',
  'data.name',
  'cookies',
  'images',
  'position',
  'wordsBefore',
  'depth',
  'index',
  'fromEnd',
  ...Object.keys(TAGS).map((name) => `is.${name}`),
  ...SURROUNDING_FEATURES,
  ...PHRASE_NAMES.map((name) => `says.${name}`),
  ...LEVELS.flatMap((level) => featureNames(`up${level}`, 'share links prose blocks mean')),
  ...ENTRY_FEATURES,
  ...CORE_FEATURES,
  ...HEADING_FEATURES,
  ...NEIGHBOUR_FEATURES,
  ...KIN_FEATURES,
];

/** Describes the text of a block and its place on the page. */
function describeText({ blocks, measures, texts, partOf }: BlockPage): Aspect {
  const shown = new Map<TextFeatures, number>();
  const copyAt = texts.map((text) => {
    const before = shown.get(text) ?? 0;
    shown.set(text, before + 1);
    return before;
  });
  return (index) => {
    const [block, own, counts] = [blocks[index], texts[index], measures.counts[index]];
    if (block === undefined || own === undefined || counts === undefined) return [];
    const { box, text, links } = block;
    return [
      counts.words,
      text.length,
      text.length / Math.max(1, counts.words),
      measures.linkShare[index] ?? 0,
      links,
      counts.commas,
      counts.sentences,
      own.ends,
      own.digits,
      own.upper,
      own.first,
      box.hidden ? 1 : 0,
      own.copies,
      copyAt[index] ?? 0,
      own.title,
      own.meta,
      own.data,
      own.dataName,
      own.cookies,
      box.images,
      index / blocks.length,
      partOf({ start: 0, end: index }).share,
      box.depth,
      Math.log1p(index),
      Math.log1p(blocks.length - index),
    ];
  };
}

/** Returns the element this many levels above another, or the root. */
function ancestorOf(box: Box, levels: number): Box {
  let at = box;
  for (let level = 0; level < levels && at.parent !== null; level++) at = at.parent;
  return at;
}

/**
 * Describes each block by numbers, named by `BLOCK_FEATURES`. Takes time proportional to the number of blocks.
 *
 * @param data the objects of the page's JSON-LD
 * @returns one row after the other, and the sets of blocks that belong together
 */
export function describeBlocks(
  blocks: readonly Block[],
  boxes: readonly Box[],
  measures: Measures,
  title: string,
  summary: string,
  data: readonly Record<string, unknown>[],
): { rows: Float32Array; families: Families } {
  const readText = createTextReader(title, summary, data);
  const texts = measures.counts.map((counts, index) => readText(blocks[index]?.text ?? '', counts));
  const page = createBlockPage(blocks, boxes, measures, texts);
  const tagFlags = remember((name: string) =>
    Object.values(TAGS).map((pattern) => (pattern.test(name) ? 1 : 0)),
  );
  const { distancesOf, mayBeContent } = measureSurroundings(boxes);
  const entries = describeEntries(page);
  const headings = describeHeadings(page);
  const { aspect: describeOwnKin, kinIds } = describeKin(page);
  const ofBox =
    (describe: (box: Box) => ArrayLike<number>): Aspect =>
    (index) => {
      const box = blocks[index]?.box;
      return box === undefined ? [] : describe(box);
    };
  const aspects = [
    describeText(page),
    ofBox(({ element }) => tagFlags(element.name)),
    ofBox(distancesOf),
    (index: number) => texts[index]?.phrases ?? [],
    ofBox((box) =>
      LEVELS.flatMap((level) => {
        const part = page.partOf(ancestorOf(box, level));
        return [part.share, part.links, part.prose, part.size, part.words / Math.max(1, part.blocks)];
      }),
    ),
    entries.aspect,
    describeCores(page, mayBeContent),
    headings.aspect,
    describeNeighbours(page, kinIds),
    describeOwnKin,
  ];
  const rows = new Float32Array(BLOCK_FEATURES.length * blocks.length);
  let at = 0;
  for (const index of blocks.keys())
    for (const aspect of aspects) {
      const values = aspect(index);
      rows.set(values, at);
      at += values.length;
    }
  const partsAbove = (level: number) =>
    Int32Array.from(blocks, ({ box }) => page.rangeOf(ancestorOf(box, level)));
  const numberSlot = createNumbering<number>();
  return {
    rows,
    families: {
      kin: kinIds,
      part: headings.sections,
      up1: partsAbove(1),
      up3: partsAbove(3),
      up6: partsAbove(6),
      group: entries.groups,
      item: entries.items,
      slot: kinIds.map((kin, index) => numberSlot((entries.groups[index] ?? 0) * PAIR + kin)),
    },
  };
}
