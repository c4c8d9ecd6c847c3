import type { Block, Box } from './blocks.ts';
import { FAMILIES, type Families } from './contextFeatures.ts';
import { createSubjectReader, SUBJECT_NAMES } from './vocabulary.ts';

/** Sums over all blocks before an index, so that the sum over a range is one subtraction. */
interface Sums {
  words: Float64Array;
  linked: Float64Array;
  prose: Float64Array;
}

export interface Measures {
  words: number[];
  /** Share of the characters that are inside links. */
  linkShare: number[];
  linked: boolean[];
  /** Whether a block reads like a paragraph: some words, few links, punctuation. */
  prose: boolean[];
}

const WORD = /[\p{L}\p{N}_]+/gu;
const MIN_PROSE_WORDS = 10;
const MAX_PROSE_LINKS = 0.35;
const FAR = 20;
/** With less prose, the core of a page is where most of its words are. */
const MIN_CORE_WORDS = 40;
const HEADING = /^h[1-6]$/;

export function measure(blocks: readonly Block[]): Measures {
  const words = blocks.map(({ text }) => text.match(WORD)?.length ?? 0);
  const linkShare = blocks.map(({ linked, text }) => Math.min(1, linked / text.length));
  return {
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

const TEXTS: Readonly<Record<string, RegExp>> = {
  legal: /©|\(c\) ?(?:19|20)\d\d|all rights reserved|copyright|terms (?:of|and)|privacy policy/i,
  consent: /cookies?\b|consent|gdpr|personal data/i,
  signup:
    /subscribe|newsletter|sign[ -]?up|log ?in|sign ?in|register|e-?mail address|your (?:e-?mail|inbox)|create (?:an )?account|unsubscribe/i,
  more: /^(?:read|see|view|show|load|learn|find out|discover|browse) ?(?:more|all|full|less)|^more\b|read more$|continue reading|view all|see all/i,
  related:
    /related|you (?:may|might) (?:also )?(?:like|enjoy|be interested)|recommended|popular|trending|similar|latest (?:news|posts|articles|stories)|recent(?:ly)? (?:posts|viewed|articles)|more (?:from|stories|articles|in|on)|also (?:bought|viewed|like)|up next|read next|don.t miss/i,
  share: /^share\b|facebook|twitter|linkedin|pinterest|whatsapp|tweet|copy link|follow us|\bprint\b/i,
  comments: /\bcomments?\b|leave a reply|post a comment|\breply\b|responses?\b/i,
  thread:
    /\b(?:joined|posts|messages|location|member|likes|reactions?|quote|reply|upvote|downvote|solved|accepted|views|edited|said|wrote)\b/i,
  cart: /add to (?:cart|bag|basket|wishlist)|buy now|in stock|out of stock|sold out|quantity|checkout|shipping|delivery|pick ?up|returns?\b|financing|per month|klarna|afterpay/i,
  filter: /filter|sort by|refine|\bresults?\b|items? per page|showing \d|clear all|apply/i,
  price: /(?:[$€£¥₹]|\b(?:usd|eur|gbp|rs\.?))\s?\d|\d\s?(?:€|£|kr\b|zł|usd\b|eur\b)/i,
  rating: /\d(?:\.\d)? (?:out of|\/) ?\d|\bstars?\b|\breviews?\b|\bratings?\b|[★☆]/i,
  date: /\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\b(?:19|20)\d\d\b|\d (?:min|hour|day|week|month|year)s?\b/i,
  byline:
    /^by\b|written by|author|posted by|published|updated|last modified|min(?:ute)? read|edited by|reviewed by/i,
  home: /^(?:home|menu|search|close|back|skip to|next|previous|prev|top|back to top|toggle|open|login|account|help|contact|about|faqs?|cart)\b/i,
  ad: /advertis|sponsored|affiliate|promot|% off|\bdeal\b|coupon|free trial|commission/i,
  caption: /photo|image|credit|getty|shutterstock|courtesy|source:|figure|\bfig\b|unsplash|reuters|\bafp\b/i,
  cta: /^(?:get started|learn more|contact|book|request|try|start|download|buy|shop|sign|join|get|schedule|explore|watch|apply|donate|call)\b/i,
  edit: /^\[?(?:edit|source|view source|copy|improve|report|permalink|link|history|expand|collapse)\b|was this (?:page|article)? ?helpful|edit (?:this )?page|on this page|table of contents|in this article/i,
  about:
    /description|overview|details|features|specification|about (?:this|the)|key|highlights|benefits|ingredients|dimensions|materials?|what.s (?:included|in the box)/i,
  question: /\?$|^(?:how|what|why|when|where|can|do|does|is|are|should)\b/i,
};
const TEXT_NAMES = Object.keys(TEXTS);
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
/** Longest text that is searched for phrases of a page's furniture. */
const MAX_PHRASE = 160;

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
  ...TEXT_NAMES.map((name) => `says.${name}`),
  ...LEVELS.flatMap((level) =>
    ['share', 'links', 'prose', 'blocks', 'mean'].map((name) => `up${level}.${name}`),
  ),
  'item.level',
  'item.count',
  'item.words',
  'item.links',
  'item.images',
  'item.prices',
  'group.share',
  'group.links',
  'group.prose',
  'group.images',
  'group.prices',
  'outer.level',
  'outer.count',
  'outer.words',
  'outer.share',
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
  'part.words',
  'part.links',
  'part.prose',
  'part.blocks',
  ...[-3, -2, -1, 1, 2, 3].flatMap((step) => ['words', 'links', 'same'].map((name) => `near${step}.${name}`)),
  'around5.words',
  'around5.links',
  'around12.words',
  'around12.links',
  'proseBefore',
  'proseAfter',
  'kin.count',
  'kin.words',
  'kin.links',
  'kin.share',
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
}

/** Key of blocks that a template made alike: tags and classes of the innermost elements. */
function kinOf(box: Box): string {
  let key = '';
  for (let at: Box | null = box, level = 0; at !== null && level < 4; at = at.parent, level++)
    key += `${at.signature}>`;
  return key;
}

/**
 * Describes each block by numbers, named by `BLOCK_FEATURES`. Takes time proportional to the number of blocks.
 *
 * @returns one row after the other, and the sets of blocks that belong together
 */
export function describeBlocks(
  blocks: readonly Block[],
  boxes: readonly Box[],
  measures: Measures,
  title: string,
  summary: string,
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
    };
  };
  const parts = new Map<Box, Part>();
  const partOf = (box: Box): Part => {
    const known = parts.get(box);
    if (known !== undefined) return known;
    const part = range(box.start, box.end);
    parts.set(box, part);
    return part;
  };

  // Distances to the nearest element around, by subject of its names and by tag.
  const subjectsOf = createSubjectReader();
  const named = new Map<Box, Uint8Array>();
  const around = new Map<Box, Uint8Array>();
  const further = (from: Uint8Array | undefined, size: number): Uint8Array => {
    const made = new Uint8Array(size).fill(FAR);
    if (from !== undefined) for (let at = 0; at < size; at++) made[at] = Math.min(FAR, (from[at] ?? FAR) + 1);
    return made;
  };
  const children = new Map<Box, Box[]>();
  for (const box of boxes) {
    const names = further(box.parent === null ? undefined : named.get(box.parent), SUBJECT_NAMES.length);
    const { name } = box.element;
    // The root elements' names describe the page, not a part of it.
    if (name !== 'body' && name !== 'html') for (const subject of subjectsOf(box.element)) names[subject] = 0;
    named.set(box, names);
    const tags = further(box.parent === null ? undefined : around.get(box.parent), AROUND.length);
    const tag = AROUND.findIndex((it) => it === name || it === box.element.attribs.role);
    if (tag >= 0) tags[tag] = 0;
    if (name === 'ol') tags[AROUND.indexOf('ul')] = 0;
    around.set(box, tags);
    if (box.parent !== null) {
      const siblings = children.get(box.parent);
      if (siblings === undefined) children.set(box.parent, [box]);
      else siblings.push(box);
    }
  }

  // Consent dialogs and footers can have more prose than the content.
  const core = new Float64Array(last + 1);
  const outside = (['nav', 'footer', 'dialog'] as const).map((tag) => AROUND.indexOf(tag));
  const consent = SUBJECT_NAMES.indexOf('consent');
  for (const [index, { box }] of blocks.entries()) {
    const tags = around.get(box);
    const isContent =
      (named.get(box)?.[consent] ?? FAR) === FAR && outside.every((tag) => (tags?.[tag] ?? FAR) === FAR);
    core[index + 1] =
      (core[index] ?? 0) + (isContent && measures.prose[index] === true ? (measures.words[index] ?? 0) : 0);
  }

  /** Returns the path from the root to the innermost element with a share of the page's prose, or else of its words. */
  const pathToCore = (share: number): readonly Box[] => {
    const sum = (core[last] ?? 0) > MIN_CORE_WORDS ? core : sums.words;
    const wanted = share * (sum[last] ?? 0);
    const path: Box[] = [];
    let candidates: readonly Box[] = boxes.filter(({ parent }) => parent === null);
    for (;;) {
      const next = candidates.find(({ start, end }) => between(sum, start, end) >= wanted);
      if (next === undefined) return path;
      path.push(next);
      candidates = children.get(next) ?? [];
    }
  };
  const cores = [0.5, 0.8].map((share) => {
    const path = pathToCore(share);
    return { path: new Set(path), center: path.at(-1) };
  });

  /** Number of blocks with a text, and of those before the current one. */
  const copies = new Map<string, number>();
  const shown = new Map<string, number>();
  const kins = new Map<string, { count: number; words: number; linked: number }>();
  const kinKeys = blocks.map(({ box }) => kinOf(box));
  for (const [index, { text }] of blocks.entries()) {
    copies.set(text, (copies.get(text) ?? 0) + 1);
    const key = kinKeys[index] ?? '';
    const kin = kins.get(key) ?? { count: 0, words: 0, linked: 0 };
    kin.count++;
    kin.words += measures.words[index] ?? 0;
    kin.linked += (measures.words[index] ?? 0) * (measures.linkShare[index] ?? 0);
    kins.set(key, kin);
  }
  const titleWords = new Set(title.toLowerCase().match(WORD));
  const summaryWords = new Set(summary.toLowerCase().match(WORD));
  const overlap = (text: string, words: ReadonlySet<string>): number => {
    if (words.size === 0 || text.length > 600) return 0;
    const own = text.toLowerCase().match(WORD) ?? [];
    return own.length === 0
      ? 0
      : own.filter((word) => words.has(word)).length / Math.max(own.length, Math.min(8, words.size));
  };

  const tagOf = (index: number): string => blocks[index]?.box.element.name ?? '';
  const headingLevel = blocks.map(({ box }) => {
    for (let at: Box | null = box, level = 0; at !== null && level < 4; at = at.parent, level++)
      if (HEADING.test(at.element.name)) return Number(at.element.name.slice(1));
    return 0;
  });
  const firstH1 = headingLevel.indexOf(1);
  const h1Box = blocks[firstH1]?.box;
  const h1Path = new Set<Box>();
  for (let at: Box | null = h1Box ?? null; at !== null; at = at.parent) h1Path.add(at);
  const partEnd = new Int32Array(blocks.length).fill(last);
  {
    const open: number[] = [];
    for (const [index, level] of headingLevel.entries()) {
      if (level === 0) continue;
      while (open.length > 0 && (headingLevel[open.at(-1) ?? 0] ?? 0) >= level)
        partEnd[open.pop() ?? 0] = index;
      open.push(index);
    }
  }
  const says = blocks.map(({ text }) =>
    TEXT_NAMES.map((name) => (text.length <= MAX_PHRASE && TEXTS[name]?.test(text) ? 1 : 0)),
  );
  const priced = new Float64Array(last + 1);
  const price = TEXT_NAMES.indexOf('price');
  for (const [index, flags] of says.entries()) priced[index + 1] = (priced[index] ?? 0) + (flags[price] ?? 0);
  const pricesOf = ({ start, end }: Box): number => between(priced, start, end);
  const proseAfter = new Int32Array(blocks.length).fill(FAR * 5);
  for (let index = last - 1; index >= 0; index--)
    proseAfter[index] =
      measures.prose[index] === true ? 0 : Math.min(FAR * 5, (proseAfter[index + 1] ?? FAR * 5) + 1);

  const families = new Map(FAMILIES.map((name) => [name, new Int32Array(blocks.length)]));
  const numbers = new Map<string, number>();
  const numberOf = (key: string): number => {
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  };
  const join = (name: (typeof FAMILIES)[number], index: number, key: string): void => {
    const members = families.get(name);
    if (members !== undefined) members[index] = numberOf(key);
  };
  const rangeKey = ({ start, end }: Box): string => `${start} ${end}`;

  const flagsOf = new Map<string, number[]>();
  const tagFlags = (name: string): number[] => {
    const flags = flagsOf.get(name) ?? Object.values(TAGS).map((pattern) => (pattern.test(name) ? 1 : 0));
    flagsOf.set(name, flags);
    return flags;
  };
  let at = 0;
  let heading = -1;
  let proseBefore = FAR * 5;
  const pushAll = (values: ArrayLike<number>): void => {
    rows.set(values, at);
    at += values.length;
  };
  const push = (...values: number[]): void => pushAll(values);
  for (const [index, { box, text, linked, links }] of blocks.entries()) {
    const words = measures.words[index] ?? 0;
    const count = copies.get(text) ?? 1;
    const seen = shown.get(text) ?? 0;
    shown.set(text, seen + 1);
    if ((headingLevel[index] ?? 0) > 0) heading = index;
    proseBefore = measures.prose[index] === true ? 0 : proseBefore + 1;
    push(
      words,
      text.length,
      text.length / Math.max(1, words),
      Math.min(1, linked / text.length),
      links,
      (text.match(/[,;:，、]/g) ?? []).length,
      (text.match(/[.!?。]["”’)]?(?:\s|$)/g) ?? []).length,
      /[.!?:…。]["”’)]?$/.test(text) ? 1 : 0,
      (text.match(/\d/g) ?? []).length / text.length,
      (text.match(/\p{Lu}/gu) ?? []).length / text.length,
      /^\p{Ll}/u.test(text) ? 1 : 0,
      box.hidden ? 1 : 0,
      count,
      seen,
      overlap(text, titleWords),
      overlap(text, summaryWords),
      (text.match(/cookie|consent|partner|personal data/gi) ?? []).length / Math.max(1, words),
      box.images,
      index / last,
      (sums.words[index] ?? 0) / total,
      box.depth,
      Math.log1p(index),
      Math.log1p(last - index),
    );
    const { name } = box.element;
    pushAll(tagFlags(name));
    pushAll(around.get(box) ?? []);
    pushAll(named.get(box) ?? []);
    pushAll(says[index] ?? []);
    let up: Box | null = box;
    let level = 0;
    for (const wanted of LEVELS) {
      while (level < wanted && up !== null) {
        if (up.parent === null) break;
        up = up.parent;
        level++;
      }
      const part: Part = partOf(up ?? box);
      if (wanted === 1 || wanted === 3 || wanted === 6) join(`up${wanted}`, index, rangeKey(up ?? box));
      push(
        part.share,
        part.links,
        part.prose,
        Math.log1p(part.blocks),
        part.words / Math.max(1, part.blocks),
      );
    }
    let [item, itemLevel, outer, outerLevel] = [box, -1, box, -1];
    level = 0;
    for (let it: Box | null = box; it !== null && level < 12; it = it.parent, level++) {
      if (it.repeats < 3) continue;
      if (itemLevel < 0 && it.element.name !== 'p' && partOf(it).blocks > 1) [item, itemLevel] = [it, level];
      if (outerLevel < 0 || it.repeats > 5) [outer, outerLevel] = [it, level];
    }
    join('group', index, `${rangeKey(item.parent ?? item)} ${item.repeats}`);
    join('kin', index, kinKeys[index] ?? '');
    join('part', index, `${heading}`);
    const itemPart = partOf(item);
    const group = partOf(item.parent ?? item);
    const outerPart = partOf(outer);
    push(
      itemLevel,
      Math.log1p(item.repeats),
      itemPart.words,
      itemPart.links,
      item.images,
      pricesOf(item),
      group.share,
      group.links,
      group.prose,
      (item.parent ?? item).images / Math.max(1, item.repeats),
      pricesOf(item.parent ?? item) / Math.max(1, item.repeats),
      outerLevel,
      Math.log1p(outer.repeats),
      outerPart.words,
      partOf(outer.parent ?? outer).share,
    );
    for (const { path, center } of cores) {
      let [child, steps]: [Box, number] = [box, 0];
      for (; !path.has(child) && child.parent !== null; child = child.parent) steps++;
      // The element below the path on the way to the block.
      let below = box;
      while (below.parent !== null && below.parent !== child && below !== child) below = below.parent;
      const part = partOf(below);
      const inside = center !== undefined && index >= center.start && index < center.end;
      const away =
        center === undefined || inside
          ? 0
          : index < center.start
            ? index - center.start
            : index - center.end + 1;
      push(
        inside ? 1 : 0,
        steps,
        (center?.depth ?? 0) - child.depth,
        part.share,
        part.links,
        part.prose,
        center === undefined ? 0 : (index - center.start) / Math.max(1, center.end - center.start),
        Math.sign(away) * Math.log1p(Math.abs(away)),
      );
    }
    {
      let [meeting, steps]: [Box, number] = [box, 0];
      for (; !h1Path.has(meeting) && meeting.parent !== null; meeting = meeting.parent) steps++;
      const distance = firstH1 < 0 ? 0 : index - firstH1;
      push(
        firstH1 < 0 ? -1 : Math.sign(distance),
        firstH1 < 0 ? -1 : partOf(meeting).share,
        firstH1 < 0 ? -1 : steps,
        Math.sign(distance) * Math.log1p(Math.abs(distance)),
      );
    }
    {
      const own = heading >= 0 ? says[heading] : undefined;
      push(heading < 0 ? -1 : index - heading, headingLevel[heading] ?? 0, measures.linkShare[heading] ?? 0);
      for (const it of HEADINGS) push(own?.[TEXT_NAMES.indexOf(it)] ?? 0);
      const part = heading < 0 ? range(0, last) : range(heading, partEnd[heading] ?? last);
      push(part.words, part.links, part.prose, Math.log1p(part.blocks));
    }
    for (const step of [-3, -2, -1, 1, 2, 3]) {
      const near = index + step;
      const exists = near >= 0 && near < last;
      push(
        exists ? (measures.words[near] ?? 0) : -1,
        measures.linkShare[near] ?? -1,
        exists && tagOf(near) === name && kinKeys[near] === kinKeys[index] ? 1 : 0,
      );
    }
    for (const size of [5, 12]) {
      const part = range(Math.max(0, index - size), Math.min(last, index + size + 1));
      push(part.words, part.links);
    }
    push(Math.min(FAR * 5, proseBefore), proseAfter[index] ?? 0);
    const kin = kins.get(kinKeys[index] ?? '');
    push(
      Math.log1p(kin?.count ?? 0),
      (kin?.words ?? 0) / Math.max(1, kin?.count ?? 0),
      (kin?.linked ?? 0) / Math.max(1, kin?.words ?? 0),
      (kin?.words ?? 0) / total,
    );
  }
  return { rows, families };
}
