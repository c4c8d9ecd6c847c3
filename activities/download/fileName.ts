import type { GuardedResponse } from '../../egress/response.ts';

/** File systems take 255 bytes a name; this leaves room for " (1)" and the like. */
const NAME_BYTES = 200;

/** RFC 9110, 5.6: a parameter with its value, a quoted one with its escapes. */
const PARAMETER = /;\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/gs;

function decodePercent(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** RFC 8187: `UTF-8'en'na%C3%AFve`; of other charsets than these two, none is in use. */
function decodeExtended(value: string): string | null {
  const [, charset = '', encoded = ''] = /^([^']*)'[^']*'(.*)$/s.exec(value) ?? [];
  if (/^utf-8$/i.test(charset)) return decodePercent(encoded);
  if (!/^iso-8859-1$/i.test(charset)) return null;
  return encoded.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** The file name of a Content-Disposition (RFC 6266: `filename*` before `filename`), or null. */
function dispositionName(header: string | null): string | null {
  if (header === null) return null;
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, token = ''] of `;${header.slice(header.indexOf(';') + 1)}`.matchAll(
    PARAMETER,
  ))
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/gs, '$1') ?? token);
  const extended = parameters.get('filename*');
  const plain = parameters.get('filename');
  return (extended === undefined ? null : decodeExtended(extended)) ?? plain ?? null;
}

function urlName(url: string): string {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  return decodePercent(last) ?? last;
}

/** Extensions worth taking off: `report.docx` is named `report`, while `v1.2 final` keeps its dot. */
const EXTENSION = /\.(?:[a-z]{2,4}[0-9]?|[a-z]*(?:jpeg|webp|docx|heic|tiff|html)|mp[34]|rtf)$/i;
/** Of a path, of a shell or of Windows; controls, and what turns the reading direction or cannot be seen (joiners stay: scripts need them). */
const UNSAFE = /[/\\:*?"<>|]|\p{Cc}|(?![\u200c\u200d])\p{Cf}|\p{Cs}|\p{Zl}|\p{Zp}/gu;
/** Names that Windows keeps for devices. */
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)$/i;

function cut(text: string, bytes: number): string {
  let kept = '';
  let size = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    size += Buffer.byteLength(segment);
    if (size > bytes) break;
    kept += segment;
  }
  return kept;
}

/** Takes spaces and dots off both ends, in linear time. */
function trimDots(text: string): string {
  const isEdge = (index: number): boolean => /[\s.]/.test(text[index] ?? 'x');
  let start = 0;
  let end = text.length;
  while (isEdge(start)) start++;
  while (end > start && isEdge(end - 1)) end--;
  return text.slice(start, end);
}

/** What is left of a name: a stem that is safe on every system, or ''. */
function cleanStem(name: string): string {
  // A path is not the sender's to choose.
  const base = name.split(/[/\\]/).at(-1) ?? '';
  const stem = base.replace(EXTENSION, '').replace(UNSAFE, ' ').replace(/\s+/g, ' ');
  const trimmed = trimDots(stem);
  return RESERVED.test(trimmed) ? '' : trimmed;
}

/**
 * A name to save a result under: that of its source with another extension. It comes from Content-Disposition, else
 * from the last segment of the URL; it holds no path, control or direction character, does not begin with a dot, and
 * has at most 200 bytes of UTF-8.
 *
 * @param source the response that the source came with
 * @param extension without its dot
 * @param fallback the stem where the source has no usable name
 */
export function suggestFileName(
  source: Pick<GuardedResponse, 'url' | 'header'>,
  extension: string,
  fallback: string,
): string {
  const room = NAME_BYTES - extension.length - 1;
  const candidates = [dispositionName(source.header('content-disposition')) ?? '', urlName(source.url)];
  const stem = candidates.map((name) => cut(cleanStem(name), room).trimEnd()).find((name) => name !== '');
  return `${stem ?? fallback}.${extension}`;
}
