import { type Aspect, type BlockPage, featureNames } from './blockPage.ts';
import type { Box } from './blocks.ts';
import { LEADS, leadsOf, PHRASE_NAMES } from './phrases.ts';

const SUBJECTS = 'related comments signup about rating question more'.split(' ');
const PHRASES = SUBJECTS.map((name) => PHRASE_NAMES.indexOf(name));

export const HEADING_FEATURES = [
  ...featureNames('h1', 'after share up distance'),
  ...featureNames('heading', 'distance level isLink'),
  ...SUBJECTS.map((name) => `heading.${name}`),
  ...LEADS.map((name) => `above.${name}`),
  ...featureNames('part', 'words links prose blocks'),
];

/**
 * Describes where a block is in relation to the first heading of level 1 and to the heading before it, and the section of that
 * heading.
 *
 * @returns also the section of each block, as a number
 */
export function describeHeadings({ blocks, measures, texts, headingLevels, partOf }: BlockPage): {
  aspect: Aspect;
  sections: Int32Array;
} {
  const { length } = blocks;
  const firstH1 = headingLevels.indexOf(1);
  const toH1 = new Set<Box>();
  for (let at: Box | null = blocks[firstH1]?.box ?? null; at !== null; at = at.parent) toH1.add(at);

  /** The heading at or before a block; the heading of the section around that of a heading; where its section ends. */
  const before = new Int32Array(length);
  const above = new Int32Array(length).fill(-1);
  const ends = new Int32Array(length).fill(length);
  let heading = -1;
  const open: number[] = [];
  for (const [index, level] of headingLevels.entries()) {
    if (level > 0) {
      while (open.length > 0 && (headingLevels[open.at(-1) ?? 0] ?? 0) >= level)
        ends[open.pop() ?? 0] = index;
      above[index] = open.at(-1) ?? -1;
      open.push(index);
      heading = index;
    }
    before[index] = heading;
  }

  /** Describes the way from a block to the first heading of level 1. */
  const relateToH1 = (box: Box, index: number): readonly number[] => {
    if (firstH1 < 0) return [-1, -1, -1, 0];
    let [meeting, steps] = [box, 0];
    for (; !toH1.has(meeting) && meeting.parent !== null; meeting = meeting.parent) steps++;
    const distance = index - firstH1;
    const side = Math.sign(distance);
    return [side, partOf(meeting).share, steps, side * Math.log1p(Math.abs(distance))];
  };
  const aspect: Aspect = (index) => {
    const box = blocks[index]?.box;
    if (box === undefined) return [];
    const at = before[index] ?? -1;
    const said = texts[at]?.phrases;
    const section = partOf(at < 0 ? { start: 0, end: length } : { start: at, end: ends[at] ?? length });
    return [
      ...relateToH1(box, index),
      at < 0 ? -1 : index - at,
      headingLevels[at] ?? 0,
      measures.linkShare[at] ?? 0,
      ...PHRASES.map((phrase) => said?.[phrase] ?? 0),
      ...leadsOf(texts[above[at] ?? -1]?.phrases),
      section.words,
      section.links,
      section.prose,
      section.size,
    ];
  };
  return { aspect, sections: before.map((it) => it + 1) };
}
