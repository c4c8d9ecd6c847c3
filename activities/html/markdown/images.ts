import { type Element, isTag } from 'domhandler';
import { resolveUrl } from '../urls.ts';

const SOURCES = [
  'data-src',
  'data-lazy-src',
  'data-original',
  'data-lazy',
  'data-url',
  'data-image',
  'data-full-src',
  'src',
];
const CANDIDATES = ['data-srcset', 'data-lazy-srcset', 'srcset'];

/** Returns the last, usually largest, URL of a `srcset`. */
function lastCandidate(srcset = ''): string | undefined {
  const urls = srcset.split(/,\s/).map((candidate) => candidate.trim().split(/\s/, 1)[0]?.replace(/,$/, ''));
  return urls.findLast((url) => url !== undefined && url !== '' && !url.startsWith('data:'));
}

/** Returns the absolute URL of an image, also of one that a script loads later; null when it has none. */
export function imageUrl(image: Element, base: string): string | null {
  const { parent } = image;
  const sources =
    parent !== null && isTag(parent) && parent.name === 'picture' ? parent.children.filter(isTag) : [];
  const urls = [
    ...SOURCES.map((name) => image.attribs[name]),
    ...[image, ...sources].flatMap(({ attribs }) => CANDIDATES.map((name) => lastCandidate(attribs[name]))),
  ];
  for (const url of urls) {
    const text = url?.trim() ?? '';
    if (text === '' || text.startsWith('data:')) continue;
    const resolved = resolveUrl(text, base);
    if (resolved !== null) return resolved.href;
  }
  return null;
}

/** Whether an image only counts visits: it declares a size of at most one pixel. */
export const isPixel = ({ attribs }: Element): boolean =>
  /^[01](?:px)?$/.test(attribs.width ?? '') || /^[01](?:px)?$/.test(attribs.height ?? '');
