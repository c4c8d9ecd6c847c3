import { type Element, isTag } from 'domhandler';
import { parseHtml } from '../parse.ts';
import { resolveUrl } from '../urls.ts';
import { plainText } from './code.ts';
import { find } from './find.ts';

/** Attributes from which scripts copy the URL of an image to `src` when the image comes into view. */
const LAZY = /^(?:data-(?:[\w-]*(?:src|original|lazy(?:load)?)|url|image)|(?:nitro-)?lazy-src)$/;
/** Attributes named so have another image than the one that is shown. */
const SUBSTITUTE = /fallback|error|placeholder|thumb|low|blur|video|iframe|poster/;
const LAZY_SET = /^(?:data-(?:[\w-]*-)?|lazy-)srcset$/;
/** The URL of an image in any attribute. */
const IMAGE_URL = /^[^\s'"(){}<>]+\.(?:avif|bmp|gif|jpe?g|png|svg|webp)(?:[?#][^\s'"(){}<>]*)?$/i;
const OTHER_TEXT = /^(?:alt|title|src|srcset|class|id|usemap|longdesc)$/;
/** Names of files that are shown until the image has been loaded. */
const PLACEHOLDER =
  /(?:^|[/_.-])(?:placeholder|blank|spacer|loading|lazy(?:load)?|transparent|pixel|1x1|grey|gray)(?:[_.-][^/]*)?\.(?:gif|png|svg|jpe?g|webp)(?:[?#]|$)/i;

/** Longer values are no URLs, but data. */
const MAX_LENGTH = 4096;
const matches = (value: string, pattern: RegExp): boolean =>
  value.length <= MAX_LENGTH && pattern.test(value);

/** Whether a value can be a URL, and not a flag or a template. */
const isUrl = (value: string): boolean => /[/.]/.test(value) && !/^[[{]|\{\{|^data:|^\w+\(/.test(value);

/** Returns the URL of a `srcset` with the largest descriptor. A comma ends a candidate before space or after a descriptor. */
function largestCandidate(srcset: string): string | undefined {
  const candidates = srcset
    .split(/,\s+|(?<=\s[\d.]{1,9}[wx]),/)
    .map((candidate) => candidate.trim().split(/\s+/))
    .map(([url = '', size = '1']) => ({ url: url.replace(/,$/, ''), size: Number.parseFloat(size) || 0 }))
    .filter(({ url }) => url !== '' && !url.startsWith('data:'));
  const most = Math.max(...candidates.map(({ size }) => size));
  return candidates.find(({ size }) => size === most)?.url;
}

/** Returns the absolute URL of an image, also of one that a script loads later; null when it has none. */
export function imageUrl(image: Element, base: string): string | null {
  const { parent } = image;
  const sources =
    parent !== null && isTag(parent) && parent.name === 'picture' ? parent.children.filter(isTag) : [];
  const read = (shown: readonly Element[], isWanted: (name: string, value: string) => boolean): string[] =>
    shown
      .flatMap(({ attribs }) => Object.entries(attribs))
      .filter(([name, value]) => isWanted(name, value))
      .map(([, value]) => value);
  const all = [image, ...sources];
  const src = image.attribs.src ?? '';
  const urls = [
    ...read([image], (name) => LAZY.test(name) && !SUBSTITUTE.test(name)),
    ...read([image], (name, value) => name === 'src' && !matches(value, PLACEHOLDER)),
    ...read(all, (name) => LAZY_SET.test(name)).map(largestCandidate),
    ...read(all, (name) => name === 'srcset').map(largestCandidate),
    ...read([image], (name, value) => !OTHER_TEXT.test(name) && matches(value, IMAGE_URL)),
    src,
  ];
  for (const url of urls) {
    const text = url?.trim() ?? '';
    if (text === '' || (url !== src && !isUrl(text)) || /^(?:data|about):/.test(text)) continue;
    const resolved = resolveUrl(text, base);
    if (resolved !== null) return resolved.href;
  }
  return null;
}

/** Whether an image only counts visits: it declares a size of at most one pixel. */
export const isPixel = ({ attribs }: Element): boolean =>
  /^[01](?:px)?$/.test(attribs.width ?? '') || /^[01](?:px)?$/.test(attribs.height ?? '');

export const isImage = ({ name }: Element): boolean => name === 'img' || name === 'amp-img';

/** Longest markup of a `noscript` with an image, in UTF-16 code units. */
const MAX_NOSCRIPT = 10_000;

/** Whether an image has a `noscript` beside it that has an image. */
export const hasNoscriptImage = ({ parent }: Element): boolean =>
  parent?.children.some((it) => isTag(it) && it.name === 'noscript' && /<img\b/i.test(plainText(it))) ===
  true;

/** Returns the image that a `noscript` has for one that scripts load without saying from where; null when it has none. */
export function noscriptImage(element: Element, base: string): Element | null {
  const markup = plainText(element);
  if (element.children.some(isTag) || markup.length > MAX_NOSCRIPT || !/<img\b/i.test(markup)) return null;
  const shown = element.parent?.children.filter(isTag).filter(isImage) ?? [];
  const image = find(parseHtml(`<!doctype html><body>${markup}`).children, isImage);
  if (image === null || shown.some((it) => imageUrl(it, base) !== null)) return null;
  // An image without text that stands alone counts visits.
  if (shown.length === 0 && (image.attribs.alt ?? '') === '') return null;
  image.parent = element.parent;
  return image;
}
