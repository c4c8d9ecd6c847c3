import type { Box } from './blocks.ts';
import { createSubjectReader, SUBJECT_NAMES } from './vocabulary.ts';

const TAGS =
  'nav header footer aside main article section form table ul li dl figure blockquote pre a button details dialog p'.split(
    ' ',
  );
/** How far away the nearest element around is, by tag and by subject of its names. */
export const SURROUNDING_FEATURES = [
  ...TAGS.map((name) => `in.${name}`),
  ...SUBJECT_NAMES.map((name) => `named.${name}`),
];
const WIDTH = SURROUNDING_FEATURES.length;
const FAR = 20;
/** Consent dialogs and footers can have more prose than the content. */
const OUTSIDE = ['in.nav', 'in.footer', 'in.dialog', 'named.consent'].map((name) =>
  SURROUNDING_FEATURES.indexOf(name),
);
const INDEX = new Map(TAGS.map((name, index) => [name, index]));
const tagOf = (name: string): number => INDEX.get(name) ?? TAGS.length;

/** Measures the distances of elements to those around them, in elements. */
export function measureSurroundings(boxes: readonly Box[]): {
  distancesOf(box: Box): Uint8Array;
  mayBeContent(box: Box): boolean;
} {
  const subjectsOf = createSubjectReader();
  const distances = new Uint8Array(boxes.length * WIDTH);
  const distancesOf = ({ index }: Box) => distances.subarray(index * WIDTH, (index + 1) * WIDTH);
  for (const box of boxes) {
    const own = distancesOf(box).fill(FAR);
    if (box.parent !== null)
      for (const [at, distance] of distancesOf(box.parent).entries()) own[at] = Math.min(FAR, distance + 1);
    const { name, attribs } = box.element;
    // The root elements' names describe the page, not a part of it.
    if (name !== 'body' && name !== 'html')
      for (const subject of subjectsOf(box.element)) own[TAGS.length + subject] = 0;
    const tag = Math.min(tagOf(name), tagOf(attribs.role ?? ''));
    if (tag < TAGS.length) own[tag] = 0;
    if (name === 'ol') own[tagOf('ul')] = 0;
  }
  return {
    distancesOf,
    mayBeContent(box) {
      const own = distancesOf(box);
      return OUTSIDE.every((column) => own[column] === FAR);
    },
  };
}
