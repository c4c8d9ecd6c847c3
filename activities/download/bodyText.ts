import { MIMEType } from 'node:util';
import { charsetOfLabel, charsetOfMark, decodeStrictly, decodeText } from './charset.ts';

/** The body of an HTTP response as JSON can carry it. */
export interface BodyText {
  body: string;
  bodyEncoding: 'text' | 'base64';
}

const TEXTUAL =
  /^(?:text\/|application\/(?:json|xml|xml-dtd|(?:x-)?(?:javascript|ecmascript|ndjson|yaml)|x-www-form-urlencoded|graphql|sql|toml)$)/;
const TEXTUAL_SUFFIX = /\+(?:json|xml|yaml)$/;
const MEDIA = /^(?:image|audio|video|font)\//;

/** "Binary data byte": MIME Sniffing Standard, section 3. */
const isBinaryByte = (byte: number): boolean =>
  byte <= 0x08 || byte === 0x0b || (byte >= 0x0e && byte <= 0x1a) || (byte >= 0x1c && byte <= 0x1f);

interface MediaType {
  /** Empty where there is none, or none that can be read. */
  type: string;
  /** The label that the type declares, as the server wrote it. */
  charset: string | null;
}

function readMediaType(field: string | null): MediaType {
  try {
    const { essence, params } = new MIMEType(field ?? '');
    return { type: essence, charset: params.get('charset') };
  } catch {
    return { type: '', charset: null };
  }
}

function textOf(bytes: Buffer, { type, charset: declared }: MediaType): string | null {
  const textual = TEXTUAL.test(type) || TEXTUAL_SUFFIX.test(type);
  if (MEDIA.test(type) && !textual) return null;
  const charset =
    // In a file of a type of its own the same bytes may mean anything.
    (textual || type === '' ? charsetOfMark(bytes) : null) ??
    (declared === null ? null : charsetOfLabel(declared)) ??
    'utf-8';
  const binary = !charset.startsWith('utf-16') && bytes.some(isBinaryByte);
  const text = decodeStrictly(bytes, charset);
  if (text !== null && (textual || !binary)) return text;
  // Servers call what they know nothing about text/plain.
  return textual && !binary ? decodeText(bytes, declared) : null;
}

/**
 * Text where the body is that, else base64. Images, sound, video and fonts never are text, SVG aside; what its type
 * says is text is text, unless it does not decode and holds bytes that no text has; anything else is text when it
 * decodes without a fault and without such bytes.
 *
 * @param bytes without content codings
 * @param contentType value of the Content-Type header; null when there is none
 */
export function readBodyText(bytes: Buffer, contentType: string | null): BodyText {
  const text = bytes.length === 0 ? '' : textOf(bytes, readMediaType(contentType));
  return text === null
    ? { body: bytes.toString('base64'), bodyEncoding: 'base64' }
    : { body: text, bodyEncoding: 'text' };
}
