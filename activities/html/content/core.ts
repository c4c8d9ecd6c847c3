import { type Aspect, type BlockPage, featureNames } from './blockPage.ts';
import type { Box } from './blocks.ts';
import { summed } from './sums.ts';

/** With less prose, the core of a page is where most of its words are. */
const MIN_CORE_WORDS = 40;
/** Shares of the page's prose that its core has. */
const SHARES = [0.5, 0.8];

export const CORE_FEATURES = SHARES.flatMap((share) =>
  featureNames(`core${100 * share}`, 'inside up down child.share child.links child.prose child.at away'),
);

/** Describes where a block is in relation to the innermost element with most of the page's prose, or else of its words. */
export function describeCores(
  { blocks, boxes, measures: { words, prose }, partOf }: BlockPage,
  mayBeContent: (box: Box) => boolean,
): Aspect {
  const all = { start: 0, end: blocks.length };
  const proseIn = summed(
    blocks.map(({ box }, index) => (prose[index] === true && mayBeContent(box) ? (words[index] ?? 0) : 0)),
  );
  const sum = proseIn(all) > MIN_CORE_WORDS ? proseIn : summed(words);
  const cores = SHARES.map((share) => {
    const path: Box[] = [];
    for (const box of boxes)
      if (box.parent === (path.at(-1) ?? null) && sum(box) >= share * sum(all)) path.push(box);
    return { path: new Set(path), center: path.at(-1) };
  });
  return (index) => {
    const box = blocks[index]?.box;
    if (box === undefined) return [];
    return cores.flatMap(({ path, center }) => {
      // The innermost element around on the path, and the one below it on the way to the block.
      let [child, below, steps]: [Box, Box, number] = [box, box, 0];
      for (; !path.has(child) && child.parent !== null; child = child.parent) {
        below = child;
        steps++;
      }
      const { start, end, depth } = center ?? { start: index, end: index + 1, depth: 0 };
      const away = Math.min(0, index - start) + Math.max(0, index - end + 1);
      const part = partOf(below);
      return [
        center !== undefined && away === 0 ? 1 : 0,
        steps,
        depth - child.depth,
        part.share,
        part.links,
        part.prose,
        (index - start) / Math.max(1, end - start),
        Math.sign(away) * Math.log1p(Math.abs(away)),
      ];
    });
  };
}
