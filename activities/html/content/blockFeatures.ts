import type { Block, Box } from './blocks.ts';
import { countCharacters, type TextCounts } from './characters.ts';
import type { Families } from './contextFeatures.ts';
import { PHRASE_NAMES } from './phrases.ts';
import { createTextReader, type TextFeatures } from './textFeatures.ts';
import { createSubjectReader, SUBJECT_NAMES } from './vocabulary.ts';

/** Sums over all blocks before an index, so that the sum over a range is one subtraction. */
interface Sums {
  words: Float64Array;
  linked: Float64Array;
  prose: Float64Array;
}

export interface Measures {
  /** The same object for equal texts. */
  counts: readonly TextCounts[];
  words: number[];
  /** Share of the characters that are inside links. */
  linkShare: number[];
  linked: boolean[];
  /** Whether a block reads like a paragraph: some words, few links, punctuation. */
  prose: boolean[];
}

const MIN_PROSE_WORDS = 10;
const MAX_PROSE_LINKS = 0.35;
const FAR = 20;
/** With less prose, the core of a page is where most of its words are. */
const MIN_CORE_WORDS = 40;
const HEADING = /^h[1-6]$/;

export function measure(blocks: readonly Block[]): Measures {
  const known = new Map<string, TextCounts>();
  const counts = blocks.map(({ text }) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const made = countCharacters(text);
    known.set(text, made);
    return made;
  });
  const words = counts.map((count) => count.words);
  const linkShare = blocks.map(({ linked, text }) => Math.min(1, linked / text.length));
  return {
    counts,
    words,
    linkShare,
    linked: linkShare.map((share) => share > 0.7),
    prose: blocks.map(
      ({ text }, index) =>
        (words[index] ?? 0) >= MIN_PROSE_WORDS &&
        (linkShare[index] ?? 0) < MAX_PROSE_LINKS &&
        /[.!?,;:。，]/.test(text),
    ),
  };
}

const HEADINGS = [
  'related',
  'comments',
  'signup',
  'about',
  'rating',
  'question',
  'legal',
  'share',
  'cart',
  'more',
] as const;
/** Subjects of headings above sections and of texts before lists. */
const LEADS = ['related', 'comments', 'more', 'about', 'rating'] as const;
const TAGS: Readonly<Record<string, RegExp>> = {
  p: /^p$/,
  h1: /^h1$/,
  h2: /^h2$/,
  h3: /^h[3-6]$/,
  li: /^li$/,
  cell: /^t[dh]$/,
  a: /^a$/,
  span: /^(?:span|b|strong|em|i|font|small)$/,
  div: /^(?:div|section|article|main)$/,
  pre: /^(?:pre|code|samp|kbd)$/,
  dt: /^d[tdl]$/,
  button: /^(?:button|label|legend|summary)$/,
  time: /^(?:time|address|cite)$/,
  caption: /^(?:figcaption|caption|figure)$/,
};
const AROUND = [
  'nav',
  'header',
  'footer',
  'aside',
  'main',
  'article',
  'section',
  'form',
  'table',
  'ul',
  'li',
  'dl',
  'figure',
  'blockquote',
  'pre',
  'a',
  'button',
  'details',
  'dialog',
  'p',
] as const;
const LEVELS = [1, 2, 3, 4, 6, 8] as const;
const STEPS = [-3, -2, -1, 1, 2, 3];
const WINDOWS = [5, 12];
const HEADING_PHRASES = HEADINGS.map((name) => PHRASE_NAMES.indexOf(name));
const LEAD_PHRASES = LEADS.map((name) => PHRASE_NAMES.indexOf(name));
const TAGS_AROUND = AROUND.length;
const SUBJECTS = SUBJECT_NAMES.length;
/** More than the number of blocks, to write two indices as one number. */
const PAIR = 2 ** 15;
/** More than the number of elements, likewise. */
const GROUP = 2 ** 20;

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
  ...AROUND.map((name) => `in.${name}`),
  ...SUBJECT_NAMES.map((name) => `named.${name}`),
  ...PHRASE_NAMES.map((name) => `says.${name}`),
  ...LEVELS.flatMap((level) =>
    ['share', 'links', 'prose', 'blocks', 'mean'].map((name) => `up${level}.${name}`),
  ),
  'item.level',
  'item.count',
  'item.words',
  'item.links',
  'item.images',
  'item.prices',
  'item.at',
  'item.blocks',
  'item.headings',
  'item.slug',
  'group.share',
  'group.links',
  'group.prose',
  'group.images',
  'group.prices',
  'group.words',
  'group.ofLargest',
  'group.slug',
  ...LEADS.map((name) => `group.lead.${name}`),
  'outer.level',
  'outer.count',
  'outer.words',
  'outer.share',
  ...LEADS.map((name) => `outer.lead.${name}`),
  ...[50, 80].flatMap((share) =>
    ['inside', 'up', 'down', 'child.share', 'child.links', 'child.prose', 'child.at', 'away'].map(
      (name) => `core${share}.${name}`,
    ),
  ),
  'h1.after',
  'h1.share',
  'h1.up',
  'h1.distance',
  'heading.distance',
  'heading.level',
  'heading.isLink',
  ...HEADINGS.map((name) => `heading.${name}`),
  ...LEADS.map((name) => `above.${name}`),
  'part.words',
  'part.links',
  'part.prose',
  'part.blocks',
  ...STEPS.flatMap((step) => ['words', 'links', 'same'].map((name) => `near${step}.${name}`)),
  'around5.words',
  'around5.links',
  'around12.words',
  'around12.links',
  'around12.prices',
  'proseBefore',
  'proseAfter',
  'kin.count',
  'kin.words',
  'kin.links',
  'kin.share',
  'kin.distinct',
];

function sumsOf({ words, linkShare, prose }: Measures): Sums {
  const total = words.length + 1;
  const sums = {
    words: new Float64Array(total),
    linked: new Float64Array(total),
    prose: new Float64Array(total),
  };
  for (const [index, count] of words.entries()) {
    sums.words[index + 1] = (sums.words[index] ?? 0) + count;
    sums.linked[index + 1] = (sums.linked[index] ?? 0) + count * (linkShare[index] ?? 0);
    sums.prose[index + 1] = (sums.prose[index] ?? 0) + (prose[index] === true ? count : 0);
  }
  return sums;
}

/** Sums over the blocks inside an element, which are features of the model. */
interface Part {
  words: number;
  share: number;
  links: number;
  prose: number;
  blocks: number;
  /** Logarithm of the number of blocks. */
  size: number;
}

const NO_PART: Part = { words: 0, share: 0, links: 0, prose: 0, blocks: 0, size: 0 };
const NO_COUNTS: TextCounts = { words: 0, commas: 0, sentences: 0, digits: 0, upper: 0 };

const AROUND_INDEX = new Map<string, number>(AROUND.map((name, index) => [name, index]));
const tagAround = (name: string): number => AROUND_INDEX.get(name) ?? TAGS_AROUND;

/** Creates a function that returns 1 for each group of tags that has a tag, and 0 for the others. */
function createTagReader(): (name: string) => readonly number[] {
  const known = new Map<string, readonly number[]>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const made = Object.values(TAGS).map((pattern) => (pattern.test(name) ? 1 : 0));
    known.set(name, made);
    return made;
  };
}

/** Copies the distances of the element around, each larger by one. */
function further(distances: Uint8Array, size: number, index: number, parent: Box | null): void {
  const to = index * size;
  if (parent === null) distances.fill(FAR, to, to + size);
  else
    for (let at = 0, from = parent.index * size; at < size; at++)
      distances[to + at] = Math.min(FAR, (distances[from + at] ?? FAR) + 1);
}

/** Creates a function that numbers keys in the order of their first use. */
function createNumbering<K>(): (key: K) => number {
  const numbers = new Map<K, number>();
  return (key) => {
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, numbers.size);
    return numbers.size - 1;
  };
}

/** The entries of lists around a block, and how many elements above it they are; -1 if there are none. */
interface Entry {
  /** The innermost one with more than one block. */
  item: Box;
  itemLevel: number;
  outer: Box;
  outerLevel: number;
}

function entryOf(box: Box, sizeOf: (box: Box) => number): Entry {
  const found: Entry = { item: box, itemLevel: -1, outer: box, outerLevel: -1 };
  for (let at: Box | null = box, level = 0; at !== null && level < 12; at = at.parent, level++) {
    if (at.repeats < 3) continue;
    if (found.itemLevel < 0 && at.element.name !== 'p' && sizeOf(at) > 1)
      [found.item, found.itemLevel] = [at, level];
    if (found.outerLevel < 0 || at.repeats > 5) [found.outer, found.outerLevel] = [at, level];
  }
  return found;
}

/** Longest address that is read, in characters. */
const MAX_ADDRESS = 500;

/**
 * Returns the number of words in the last part of an address; 0 if it has no path. The addresses of products and articles
 * have more than those of sections of a site.
 */
function slugWords(address: string): number {
  if (address.length > MAX_ADDRESS) return 0;
  const [path = ''] = address.split(/[?#]/, 1);
  const slug = path.split('/').findLast((part) => part !== '') ?? '';
  return slug === '' ? 0 : slug.split(/[-_+]|%20/).length;
}

/** Creates a function that numbers the elements that a template made alike: by tags and classes of the innermost four. */
function createKinReader(boxes: readonly Box[]): (box: Box) => number {
  const numberSignature = createNumbering<string>();
  const numberKin = createNumbering<string>();
  const signatures = Int32Array.from(boxes, ({ signature }) => numberSignature(signature));
  return (box) => {
    let key = '';
    for (let at: Box | null = box, level = 0; at !== null && level < 4; at = at.parent, level++)
      key += `${signatures[at.index]}>`;
    return numberKin(key);
  };
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
  const width = BLOCK_FEATURES.length;
  const rows = new Float32Array(width * blocks.length);
  const sums = sumsOf(measures);
  const last = blocks.length;
  const total = Math.max(1, sums.words[last] ?? 0);
  const between = (sum: Float64Array, start: number, end: number): number =>
    (sum[end] ?? 0) - (sum[start] ?? 0);
  const range = (start: number, end: number): Part => {
    const words = between(sums.words, start, end);
    return {
      words,
      share: words / total,
      links: between(sums.linked, start, end) / Math.max(1, words),
      prose: between(sums.prose, start, end) / Math.max(1, words),
      blocks: end - start,
      size: Math.log1p(end - start),
    };
  };
  const parts = boxes.map(({ start, end }) => range(start, end));
  const partOf = ({ index }: Box): Part => parts[index] ?? NO_PART;

  // Distances to the nearest element around, by subject of its names and by tag.
  const subjectsOf = createSubjectReader();
  const named = new Uint8Array(boxes.length * SUBJECTS);
  const around = new Uint8Array(boxes.length * TAGS_AROUND);
  for (const { index, parent, element } of boxes) {
    further(named, SUBJECTS, index, parent);
    further(around, TAGS_AROUND, index, parent);
    const { name, attribs } = element;
    // The root elements' names describe the page, not a part of it.
    if (name !== 'body' && name !== 'html')
      for (const subject of subjectsOf(element)) named[index * SUBJECTS + subject] = 0;
    const tag = Math.min(tagAround(name), tagAround(attribs.role ?? ''));
    if (tag < TAGS_AROUND) around[index * TAGS_AROUND + tag] = 0;
    if (name === 'ol') around[index * TAGS_AROUND + tagAround('ul')] = 0;
  }

  // Consent dialogs and footers can have more prose than the content.
  const core = new Float64Array(last + 1);
  const outside = (['nav', 'footer', 'dialog'] as const).map(tagAround);
  const consent = SUBJECT_NAMES.indexOf('consent');
  for (const [index, { box }] of blocks.entries()) {
    const isContent =
      named[box.index * SUBJECTS + consent] === FAR &&
      outside.every((tag) => around[box.index * TAGS_AROUND + tag] === FAR);
    core[index + 1] =
      (core[index] ?? 0) + (isContent && measures.prose[index] === true ? (measures.words[index] ?? 0) : 0);
  }

  /** Returns the path from the root to the innermost element with a share of the page's prose, or else of its words. */
  const pathToCore = (share: number): readonly Box[] => {
    const sum = (core[last] ?? 0) > MIN_CORE_WORDS ? core : sums.words;
    const wanted = share * (sum[last] ?? 0);
    const path: Box[] = [];
    for (const box of boxes)
      if (box.parent === (path.at(-1) ?? null) && between(sum, box.start, box.end) >= wanted) path.push(box);
    return path;
  };
  const flagged = (path: Iterable<Box>): Uint8Array => {
    const flags = new Uint8Array(boxes.length);
    for (const { index } of path) flags[index] = 1;
    return flags;
  };
  const cores = [0.5, 0.8].map((share) => {
    const path = pathToCore(share);
    return { path: flagged(path), center: path.at(-1) };
  });

  const readText = createTextReader(title, summary, data);
  const texts = blocks.map(({ text }, index) => readText(text, measures.counts[index] ?? NO_COUNTS));
  /** Number of blocks before the current one with the same text. */
  const shown = new Map<TextFeatures, number>();
  const kinOf = createKinReader(boxes);
  const kinIds = Int32Array.from(blocks, ({ box }) => kinOf(box));
  const kins: { count: number; words: number; linked: number; texts: Set<TextFeatures | undefined> }[] = [];
  for (const [index, id] of kinIds.entries()) {
    kins[id] ??= { count: 0, words: 0, linked: 0, texts: new Set() };
    const kin = kins[id];
    kin.count++;
    kin.texts.add(texts[index]);
    kin.words += measures.words[index] ?? 0;
    kin.linked += (measures.words[index] ?? 0) * (measures.linkShare[index] ?? 0);
  }

  const headingLevel = blocks.map(({ box }) => {
    for (let at: Box | null = box, level = 0; at !== null && level < 4; at = at.parent, level++)
      if (HEADING.test(at.element.name)) return Number(at.element.name.slice(1));
    return 0;
  });
  const firstH1 = headingLevel.indexOf(1);
  const toH1: Box[] = [];
  for (let at: Box | null = blocks[firstH1]?.box ?? null; at !== null; at = at.parent) toH1.push(at);
  const h1Path = flagged(toH1);
  const partEnd = new Int32Array(blocks.length).fill(last);
  /** The heading of the section around that of a heading. */
  const headingAbove = new Int32Array(blocks.length).fill(-1);
  {
    const open: number[] = [];
    for (const [index, level] of headingLevel.entries()) {
      if (level === 0) continue;
      while (open.length > 0 && (headingLevel[open.at(-1) ?? 0] ?? 0) >= level)
        partEnd[open.pop() ?? 0] = index;
      headingAbove[index] = open.at(-1) ?? -1;
      open.push(index);
    }
  }
  const priced = new Float64Array(last + 1);
  const price = PHRASE_NAMES.indexOf('price');
  for (const [index, { phrases }] of texts.entries())
    priced[index + 1] = (priced[index] ?? 0) + (phrases[price] ?? 0);
  const pricesOf = ({ start, end }: Box): number => between(priced, start, end);
  const headingsBefore = new Float64Array(last + 1);
  for (const [index, own] of headingLevel.entries())
    headingsBefore[index + 1] = (headingsBefore[index] ?? 0) + (own > 0 ? 1 : 0);
  const linksBefore = new Float64Array(last + 1);
  const slugsBefore = new Float64Array(last + 1);
  for (const { element, start } of boxes) {
    const words = element.name === 'a' ? slugWords(element.attribs.href ?? '') : 0;
    if (words === 0) continue;
    linksBefore[start + 1] = (linksBefore[start + 1] ?? 0) + 1;
    slugsBefore[start + 1] = (slugsBefore[start + 1] ?? 0) + words;
  }
  for (let index = 1; index <= last; index++) {
    linksBefore[index] = (linksBefore[index] ?? 0) + (linksBefore[index - 1] ?? 0);
    slugsBefore[index] = (slugsBefore[index] ?? 0) + (slugsBefore[index - 1] ?? 0);
  }
  const slugsOf = ({ start, end }: Box): number =>
    between(slugsBefore, start, end) / Math.max(1, between(linksBefore, start, end));
  const proseAfter = new Int32Array(blocks.length).fill(FAR * 5);
  for (let index = last - 1; index >= 0; index--)
    proseAfter[index] =
      measures.prose[index] === true ? 0 : Math.min(FAR * 5, (proseAfter[index + 1] ?? FAR * 5) + 1);

  const tagFlags = createTagReader();
  const numberRange = createNumbering<number>();
  const rangeIds = Int32Array.from(boxes, ({ start, end }) => numberRange(start * PAIR + end));
  const rangeOf = ({ index }: Box): number => rangeIds[index] ?? 0;
  const entries = blocks.map(({ box }) => entryOf(box, (it) => partOf(it).blocks));
  const numberGroup = createNumbering<number>();
  const groupOf = (box: Box): number => numberGroup(rangeOf(box.parent ?? box) * GROUP + box.repeats);
  const groups = Int32Array.from(entries, ({ item }) => groupOf(item));
  const outerGroups = Int32Array.from(entries, ({ outer }) => groupOf(outer));
  /** Words of the entries of each group, and the first block of the group. */
  const groupWords: number[] = [];
  const groupStart: number[] = [];
  for (const [index, { item, itemLevel, outer }] of entries.entries()) {
    const [own, around] = [groups[index] ?? 0, outerGroups[index] ?? 0];
    groupWords[own] = (groupWords[own] ?? 0) + (itemLevel < 0 ? 0 : (measures.words[index] ?? 0));
    groupStart[own] ??= item.start;
    groupStart[around] ??= outer.start;
  }
  const largestGroup = groupWords.reduce((most, words) => Math.max(most, words ?? 0), 1);
  /** Returns the phrases of the block before the first entry of a group, such as "related articles". */
  const leadOf = (group: number | undefined): readonly number[] | undefined =>
    texts[(groupStart[group ?? 0] ?? 0) - 1]?.phrases;
  const up1 = new Int32Array(last);
  const up3 = new Int32Array(last);
  const up6 = new Int32Array(last);
  const headings = new Int32Array(last);

  let at = 0;
  let heading = -1;
  let proseBefore = FAR * 5;
  for (let index = 0; index < last; index++) {
    const block = blocks[index];
    const own = texts[index];
    if (block === undefined || own === undefined) break;
    const { box, text, linked, links } = block;
    const words = measures.words[index] ?? 0;
    const counts = measures.counts[index] ?? NO_COUNTS;
    const seen = shown.get(own) ?? 0;
    if (own.copies > 1) shown.set(own, seen + 1);
    if ((headingLevel[index] ?? 0) > 0) heading = index;
    proseBefore = measures.prose[index] === true ? 0 : proseBefore + 1;
    rows[at++] = words;
    rows[at++] = text.length;
    rows[at++] = text.length / Math.max(1, words);
    rows[at++] = Math.min(1, linked / text.length);
    rows[at++] = links;
    rows[at++] = counts.commas;
    rows[at++] = counts.sentences;
    rows[at++] = own.ends;
    rows[at++] = own.digits;
    rows[at++] = own.upper;
    rows[at++] = own.first;
    rows[at++] = box.hidden ? 1 : 0;
    rows[at++] = own.copies;
    rows[at++] = seen;
    rows[at++] = own.title;
    rows[at++] = own.meta;
    rows[at++] = own.data;
    rows[at++] = own.dataName;
    rows[at++] = own.cookies;
    rows[at++] = box.images;
    rows[at++] = index / last;
    rows[at++] = (sums.words[index] ?? 0) / total;
    rows[at++] = box.depth;
    rows[at++] = Math.log1p(index);
    rows[at++] = Math.log1p(last - index);
    const { name } = box.element;
    for (const flag of tagFlags(name)) rows[at++] = flag;
    for (let tag = 0; tag < TAGS_AROUND; tag++) rows[at++] = around[box.index * TAGS_AROUND + tag] ?? FAR;
    for (let subject = 0; subject < SUBJECTS; subject++)
      rows[at++] = named[box.index * SUBJECTS + subject] ?? FAR;
    for (const flag of own.phrases) rows[at++] = flag;
    let up = box;
    let level = 0;
    for (const wanted of LEVELS) {
      for (; level < wanted && up.parent !== null; level++) up = up.parent;
      if (wanted === 1) up1[index] = rangeOf(up);
      else if (wanted === 3) up3[index] = rangeOf(up);
      else if (wanted === 6) up6[index] = rangeOf(up);
      const part = partOf(up);
      rows[at++] = part.share;
      rows[at++] = part.links;
      rows[at++] = part.prose;
      rows[at++] = part.size;
      rows[at++] = part.words / Math.max(1, part.blocks);
    }
    const { item, itemLevel, outer, outerLevel } = entries[index] ?? entryOf(box, () => 0);
    const list = item.parent ?? item;
    headings[index] = heading + 1;
    const itemPart = partOf(item);
    const group = partOf(list);
    rows[at++] = itemLevel;
    rows[at++] = Math.log1p(item.repeats);
    rows[at++] = itemPart.words;
    rows[at++] = itemPart.links;
    rows[at++] = item.images;
    rows[at++] = pricesOf(item);
    rows[at++] = index - item.start;
    rows[at++] = itemPart.blocks;
    rows[at++] = between(headingsBefore, item.start, item.end);
    rows[at++] = slugsOf(item);
    rows[at++] = group.share;
    rows[at++] = group.links;
    rows[at++] = group.prose;
    rows[at++] = list.images / Math.max(1, item.repeats);
    rows[at++] = pricesOf(list) / Math.max(1, item.repeats);
    rows[at++] = Math.log1p(groupWords[groups[index] ?? 0] ?? 0);
    rows[at++] = (groupWords[groups[index] ?? 0] ?? 0) / largestGroup;
    rows[at++] = slugsOf(list);
    const lead = leadOf(groups[index]);
    for (const phrase of LEAD_PHRASES) rows[at++] = lead?.[phrase] ?? 0;
    rows[at++] = outerLevel;
    rows[at++] = Math.log1p(outer.repeats);
    rows[at++] = partOf(outer).words;
    rows[at++] = partOf(outer.parent ?? outer).share;
    const outerLead = leadOf(outerGroups[index]);
    for (const phrase of LEAD_PHRASES) rows[at++] = outerLead?.[phrase] ?? 0;
    for (const { path, center } of cores) {
      // The innermost element around on the path, and the one below it on the way to the block.
      let [child, below, steps]: [Box, Box, number] = [box, box, 0];
      for (; path[child.index] === 0 && child.parent !== null; child = child.parent) {
        below = child;
        steps++;
      }
      const part = partOf(below);
      const inside = center !== undefined && index >= center.start && index < center.end;
      const away =
        center === undefined || inside
          ? 0
          : index < center.start
            ? index - center.start
            : index - center.end + 1;
      rows[at++] = inside ? 1 : 0;
      rows[at++] = steps;
      rows[at++] = (center?.depth ?? 0) - child.depth;
      rows[at++] = part.share;
      rows[at++] = part.links;
      rows[at++] = part.prose;
      rows[at++] = center === undefined ? 0 : (index - center.start) / Math.max(1, center.end - center.start);
      rows[at++] = Math.sign(away) * Math.log1p(Math.abs(away));
    }
    if (firstH1 < 0) {
      rows[at++] = -1;
      rows[at++] = -1;
      rows[at++] = -1;
      rows[at++] = 0;
    } else {
      let [meeting, steps]: [Box, number] = [box, 0];
      for (; h1Path[meeting.index] === 0 && meeting.parent !== null; meeting = meeting.parent) steps++;
      const distance = index - firstH1;
      rows[at++] = Math.sign(distance);
      rows[at++] = partOf(meeting).share;
      rows[at++] = steps;
      rows[at++] = Math.sign(distance) * Math.log1p(Math.abs(distance));
    }
    const said = texts[heading]?.phrases;
    rows[at++] = heading < 0 ? -1 : index - heading;
    rows[at++] = headingLevel[heading] ?? 0;
    rows[at++] = measures.linkShare[heading] ?? 0;
    for (const phrase of HEADING_PHRASES) rows[at++] = said?.[phrase] ?? 0;
    const saidAbove = texts[headingAbove[heading] ?? -1]?.phrases;
    for (const phrase of LEAD_PHRASES) rows[at++] = saidAbove?.[phrase] ?? 0;
    const section = heading < 0 ? range(0, last) : range(heading, partEnd[heading] ?? last);
    rows[at++] = section.words;
    rows[at++] = section.links;
    rows[at++] = section.prose;
    rows[at++] = section.size;
    for (const step of STEPS) {
      const near = index + step;
      const exists = near >= 0 && near < last;
      rows[at++] = exists ? (measures.words[near] ?? 0) : -1;
      rows[at++] = exists ? (measures.linkShare[near] ?? -1) : -1;
      rows[at++] = exists && kinIds[near] === kinIds[index] ? 1 : 0;
    }
    for (const size of WINDOWS) {
      const [start, end] = [Math.max(0, index - size), Math.min(last, index + size + 1)];
      const inWindow = between(sums.words, start, end);
      rows[at++] = inWindow;
      rows[at++] = between(sums.linked, start, end) / Math.max(1, inWindow);
      if (size === 12) rows[at++] = between(priced, start, end);
    }
    rows[at++] = Math.min(FAR * 5, proseBefore);
    rows[at++] = proseAfter[index] ?? 0;
    const kin = kins[kinIds[index] ?? 0];
    rows[at++] = Math.log1p(kin?.count ?? 0);
    rows[at++] = (kin?.words ?? 0) / Math.max(1, kin?.count ?? 0);
    rows[at++] = (kin?.linked ?? 0) / Math.max(1, kin?.words ?? 0);
    rows[at++] = (kin?.words ?? 0) / total;
    rows[at++] = (kin?.texts.size ?? 0) / Math.max(1, kin?.count ?? 0);
  }
  const numberSlot = createNumbering<number>();
  const slots = Int32Array.from(kinIds, (kin, index) => numberSlot((groups[index] ?? 0) * PAIR + kin));
  const items = Int32Array.from(entries, ({ item }) => rangeOf(item));
  return {
    rows,
    families: { kin: kinIds, part: headings, up1, up3, up6, group: groups, item: items, slot: slots },
  };
}
