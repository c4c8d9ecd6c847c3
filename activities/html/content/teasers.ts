import type { Block, Box } from './blocks.ts';
import type { Measures } from './measures.ts';
import { summed } from './sums.ts';

/** Number of siblings with the same tag from which they may be entries of a list. */
const MIN_ENTRIES = 3;
/** An entry refers to another page if at least this share and number of its characters is inside links. */
const LINK = { share: 0.15, characters: 12 };
/** Share of the entries of a list that must refer to other pages. */
const MOST = 0.6;
/** An entry with more than this share of the content is not a link to another page, but a part of the content. */
const MAX_SHARE = 0.35;
/** The article is the smallest element with at least this share of the prose. */
const CORE = 0.95;
const MIN_WORDS = 50;
/** Elements that are repeated inside articles. */
const WITHIN_TEXT = /^(?:p|h[1-6]|t[rhd]|span|a|b|strong|em|i|br|code)$/;

/** Elements that are beside the content unless they are in an article. */
const BESIDE = /^(?:aside|nav|footer)$/;
/** Words that introduce a link to another article, which is then most of the paragraph. */
const REFERENCE =
  /^(?:(?:read|see|watch|learn) (?:more|also|next)|also read|more (?:on|from)|related|don.t miss)\b/i;
const MOSTLY_LINKED = 0.5;

/** Whether an element is inside an article: articles inside articles are comments on them or refer to others. */
function isInArticle({ parent }: Box): boolean {
  for (let at = parent; at !== null; at = at.parent) if (at.element.name === 'article') return true;
  return false;
}

/**
 * Leaves out entries of lists that refer to other pages, such as teasers of other articles, and sidebars, if they are outside
 * of the element that contains the prose of an article; also articles inside it, and paragraphs that only say where to read
 * more.
 *
 * @param kept indices of the blocks of an article
 */
export function withoutTeasers(
  blocks: readonly Block[],
  boxes: readonly Box[],
  { words, prose }: Pick<Measures, 'words' | 'prose'>,
  kept: readonly number[],
): number[] {
  const isKept = new Set(kept);
  const linked = summed(blocks.map((block) => block.linked));
  const length = summed(blocks.map(({ text }) => text.length));
  const keptWords = summed(words.map((count, index) => (isKept.has(index) ? count : 0)));
  const all = { start: 0, end: blocks.length };
  const refers = (box: Box): boolean =>
    linked(box) >= LINK.characters &&
    (linked(box) >= LINK.share * length(box) || box.element.name === 'article');
  const candidates = boxes.filter(
    ({ element, parent }) => parent !== null && !WITHIN_TEXT.test(element.name),
  );
  const isTeaser = new Uint8Array(blocks.length);
  const isApart = new Uint8Array(blocks.length);
  for (const siblings of Map.groupBy(candidates, ({ parent }) => parent).values())
    for (const [tag, entries] of Map.groupBy(siblings, ({ element }) => element.name)) {
      if (entries.length < MIN_ENTRIES || entries.filter(refers).length < MOST * entries.length) continue;
      if (entries.some((entry) => keptWords(entry) > MAX_SHARE * keptWords(all))) continue;
      const nested = tag === 'article' && entries.every(isInArticle);
      for (const { start, end } of entries) (nested ? isApart : isTeaser).fill(1, start, end);
    }
  for (const { element, start, end } of boxes) if (BESIDE.test(element.name)) isTeaser.fill(1, start, end);
  for (const [index, { text, linked: characters }] of blocks.entries())
    if (characters >= MOSTLY_LINKED * text.length && REFERENCE.test(text)) isApart[index] = 1;
  const isOther = (index: number): boolean => isTeaser[index] === 1 || isApart[index] === 1;
  const own = summed(
    words.map((count, index) => (isKept.has(index) && prose[index] === true && !isOther(index) ? count : 0)),
  );
  const wanted = CORE * own(all);
  if (wanted < MIN_WORDS) return [...kept];
  // Boxes are in document order, so that the last one with enough prose is the innermost.
  const core = boxes.findLast((box) => own(box) >= wanted) ?? all;
  return kept.filter(
    (index) => !isOther(index) || (isApart[index] === 0 && index >= core.start && index < core.end),
  );
}
