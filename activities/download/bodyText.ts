import { type ContentType, readContentType } from '../html/contentType.ts';
import { declaredEncoding } from '../html/decode.ts';
import { isHtml } from '../html/sniff.ts';
import { charsetOfLabel, charsetOfMark, decodeStrictly, decodeText } from './charset.ts';

/** The body of an HTTP response in a form that JSON can contain. */
export interface BodyText {
  body: string;
  bodyEncoding: 'text' | 'base64';
}

const TEXTUAL =
  /^(?:text\/|application\/(?:json|xml|xml-dtd|(?:x-)?(?:javascript|ecmascript|ndjson|yaml)|x-www-form-urlencoded|graphql|sql|toml)$)/;
const TEXTUAL_SUFFIX = /\+(?:json|xml|yaml)$/;
const MEDIA = /^(?:image|audio|video|font)\//;

/** Whether a byte is a "binary data byte" (MIME Sniffing Standard, section 3). */
const isBinaryByte = (byte: number): boolean =>
  byte <= 0x08 || byte === 0x0b || (byte >= 0x0e && byte <= 0x1a) || (byte >= 0x1c && byte <= 0x1f);

const XML = /^(?:text|application)\/xml$|\+xml$/;
const XML_DECLARATION = /^<\?xml[\t\n\r ]/;

/** Whether browsers parse a body as HTML or XML. Like browsers, inspects the bytes only if there is no Content-Type. */
function markupOf(bytes: Buffer, type: string): 'html' | 'xml' | null {
  if (type === 'text/html') return 'html';
  if (XML.test(type)) return 'xml';
  if (type !== '') return null;
  if (XML_DECLARATION.test(bytes.subarray(0, 6).toString('latin1'))) return 'xml';
  return isHtml(bytes, null) ? 'html' : null;
}

/** The encoding that an HTML or XML document declares in its markup; null for other types and without a declaration. */
function declaredInside(bytes: Buffer, type: string): string | null {
  const markup = markupOf(bytes, type);
  return markup === null ? null : declaredEncoding(bytes, markup, null) || null;
}

function textOf(bytes: Buffer, { essence: type, charset: label }: ContentType): string | null {
  const textual = TEXTUAL.test(type) || TEXTUAL_SUFFIX.test(type);
  if (MEDIA.test(type) && !textual) return null;
  const declared = (label === null ? null : charsetOfLabel(label)) ?? declaredInside(bytes, type);
  const charset =
    // In bodies of other types, the bytes of a byte order mark may mean something else.
    (textual || type === '' ? charsetOfMark(bytes) : null) ?? declared ?? 'utf-8';
  const binary = !charset.startsWith('utf-16') && bytes.some(isBinaryByte);
  const text = decodeStrictly(bytes, charset);
  if (text !== null && (textual || !binary)) return text;
  // Servers send text/plain for files of unknown type, so binary bytes rule out text.
  return textual && !binary ? decodeText(bytes, declared) : null;
}

/**
 * Returns the body as text if it is text, else as base64. Images other than SVG, audio, video and fonts are never text.
 * A body of a textual type is text unless it is invalid in its encoding and contains binary bytes. Any other body is
 * text if it is valid in its encoding and contains no binary bytes.
 *
 * @param bytes body with all content codings decoded
 * @param contentType value of the Content-Type header; null when there is none
 */
export function readBodyText(bytes: Buffer, contentType: string | null): BodyText {
  const text = bytes.length === 0 ? '' : textOf(bytes, readContentType(contentType));
  return text === null
    ? { body: bytes.toString('base64'), bodyEncoding: 'base64' }
    : { body: text, bodyEncoding: 'text' };
}
