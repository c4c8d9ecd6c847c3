import { type Aspect, type BlockPage, createNumbering, featureNames } from './blockPage.ts';
import type { Box } from './blocks.ts';
import type { TextFeatures } from './textFeatures.ts';

export const KIN_FEATURES = featureNames('kin', 'count words links share distinct');

/** Creates a function that numbers the elements that a template made alike: by tags and classes of the innermost four. */
function createKinReader(boxes: readonly Box[]): (box: Box) => number {
  const numberSignature = createNumbering<string>();
  const numberKin = createNumbering<string>();
  const signatures = boxes.map(({ signature }) => numberSignature(signature));
  return (box) => {
    let key = '';
    for (let at: Box | null = box, level = 0; at !== null && level < 4; at = at.parent, level++)
      key += `${signatures[at.index]}>`;
    return numberKin(key);
  };
}

/**
 * Describes the blocks that a template made like a block.
 *
 * @returns also the number of these blocks' template for each block
 */
export function describeKin({ blocks, boxes, measures: { words, linkShare }, texts, total }: BlockPage): {
  aspect: Aspect;
  kinIds: Int32Array;
} {
  const kinOf = createKinReader(boxes);
  const kinIds = Int32Array.from(blocks, ({ box }) => kinOf(box));
  const kins: { count: number; words: number; linked: number; texts: Set<TextFeatures | undefined> }[] = [];
  for (const [index, id] of kinIds.entries()) {
    kins[id] ??= { count: 0, words: 0, linked: 0, texts: new Set() };
    const kin = kins[id];
    kin.count++;
    kin.texts.add(texts[index]);
    kin.words += words[index] ?? 0;
    kin.linked += (words[index] ?? 0) * (linkShare[index] ?? 0);
  }
  const aspect: Aspect = (index) => {
    const kin = kins[kinIds[index] ?? 0];
    if (kin === undefined) return [];
    return [
      Math.log1p(kin.count),
      kin.words / kin.count,
      kin.linked / Math.max(1, kin.words),
      kin.words / total,
      kin.texts.size / kin.count,
    ];
  };
  return { aspect, kinIds };
}
