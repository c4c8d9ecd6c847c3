import { MAX_HEADINGS, MAX_IMAGES, PART_CODE_POINTS } from '../../schemas/formats/pageParts.ts';
import type { LoadedPage } from './load.ts';
import { elementText } from './text.ts';
import { resolveUrl } from './urls.ts';
import { truncateText } from './words.ts';

interface Heading {
  level: number;
  text: string;
}

interface Image {
  /** Absolute http or https URL. */
  url: string;
  /** Alternative text; null when missing, empty when the page declares the image as decorative. */
  alt: string | null;
  /** Declared width in CSS pixels; null when not declared. */
  width: number | null;
  height: number | null;
}

/** Returns the headings of a page in document order. */
export function findHeadings({ elements }: LoadedPage): Heading[] {
  return elements
    .filter(({ name }) => /^h[1-6]$/.test(name))
    .slice(0, MAX_HEADINGS)
    .map((element) => ({
      level: Number(element.name.slice(1)),
      text: elementText(element, PART_CODE_POINTS),
    }));
}

/** Parses a dimension (HTML Standard, "rules for parsing dimension values"). Ignores percentages. */
function dimension(text: string | undefined): number | null {
  const [, digits, rest = ''] = /^[\t\n\f\r ]*(\d{1,9})(?:\.\d*)?(.?)/.exec(text ?? '') ?? [];
  return digits === undefined || rest === '%' ? null : Number(digits);
}

/** Returns the first URL of a `srcset` (HTML Standard, "parse a srcset attribute"); undefined when empty. */
function firstCandidate(srcset = ''): string | undefined {
  const [url = ''] = srcset.replace(/^[\s,]+/, '').split(/\s/, 1);
  let end = url.length;
  while (url[end - 1] === ',') end--;
  return url.slice(0, end) || undefined;
}

/** Returns the images of a page in document order. Skips images in `data:` URLs. */
export function findImages({ elements, base }: LoadedPage): Image[] {
  const images: Image[] = [];
  for (const { name, attribs } of elements) {
    if (images.length >= MAX_IMAGES) break;
    if (name !== 'img') continue;
    const url =
      resolveUrl(attribs.src?.trim() || undefined, base) ?? resolveUrl(firstCandidate(attribs.srcset), base);
    if (url === null) continue;
    images.push({
      url: url.href,
      alt: attribs.alt === undefined ? null : truncateText(attribs.alt, PART_CODE_POINTS),
      width: dimension(attribs.width),
      height: dimension(attribs.height),
    });
  }
  return images;
}
