import type { GuardedResponse } from '../../egress/response.ts';

/** Maximum length of a suggested name. File systems allow 255 bytes, which leaves room for suffixes such as " (1)". */
const NAME_BYTES = 200;

/** A parameter of Content-Disposition, with a token or quoted-string as its value (RFC 9110, 5.6). */
const PARAMETER = /;\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/gs;

function decodePercent(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Decodes an RFC 8187 value such as `UTF-8'en'na%C3%AFve`. Charsets other than UTF-8 and ISO-8859-1 are not in use. */
function decodeExtended(value: string): string | null {
  const [, charset = '', encoded = ''] = /^([^']*)'[^']*'(.*)$/s.exec(value) ?? [];
  if (/^utf-8$/i.test(charset)) return decodePercent(encoded);
  if (!/^iso-8859-1$/i.test(charset)) return null;
  return encoded.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** Returns the file name in a Content-Disposition header, or null. `filename*` has precedence over `filename` (RFC 6266). */
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

/** Extensions to remove: `report.docx` becomes `report`, but `v1.2 final` stays unchanged. */
const EXTENSION = /\.(?:[a-z]{2,4}[0-9]?|[a-z]*(?:jpeg|webp|docx|heic|tiff|html)|mp[34]|rtf)$/i;
/**
 * Characters that are removed from names: those with a meaning in paths, shells or Windows, control characters, and
 * invisible and bidirectional formatting characters, except joiners, which some scripts need.
 */
const UNSAFE = /[/\\:*?"<>|]|\p{Cc}|(?![\u200c\u200d])\p{Cf}|\p{Cs}|\p{Zl}|\p{Zp}/gu;
/** Device names that Windows reserves. */
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

/** Trims spaces and dots at both ends in linear time. */
function trimDots(text: string): string {
  const isEdge = (index: number): boolean => /[\s.]/.test(text[index] ?? 'x');
  let start = 0;
  let end = text.length;
  while (isEdge(start)) start++;
  while (end > start && isEdge(end - 1)) end--;
  return text.slice(start, end);
}

/** Removes the extension and unsafe characters from a file name; '' if nothing usable is left. */
function cleanStem(name: string): string {
  // Removes folders: the server that sends the file must not choose where a client saves it.
  const base = name.split(/[/\\]/).at(-1) ?? '';
  const stem = base.replace(EXTENSION, '').replace(UNSAFE, ' ').replace(/\s+/g, ' ');
  const trimmed = trimDots(stem);
  return RESERVED.test(trimmed) ? '' : trimmed;
}

/**
 * Suggests a file name for a result: the name of its source with another extension. The name is taken from
 * Content-Disposition, else from the last segment of the URL. It contains no path, control or bidirectional formatting
 * characters, does not begin with a dot, and has at most 200 bytes of UTF-8.
 *
 * @param source response of the download
 * @param extension without the dot
 * @param fallback name without extension, used when the source has no usable name
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
