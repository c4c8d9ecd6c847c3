import { charsetOfMark } from '../download/charset.ts';
import { readContentType, XHTML_TYPE } from './contentType.ts';
import { hasBinarySignature } from './signatures.ts';

/** "Resource header": MIME Sniffing Standard, section 5.2. */
const HEAD_BYTES = 1445;
/** Section 7.1: what only HTML begins with, here also with a line break after it. */
const TAG =
  /^<(?:!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s/>]/i;
const XHTML = /^<(?:!doctype\s+html|html)[\s/>]/i;
const FEED = /^<(?:rss|feed|rdf:rdf)[\s/>]/i;
/** White space, comments and processing instructions, which may stand before the first tag of any markup. */
const BEFORE_TAG = /^(?:\s+|<!--[\s\S]*?-->|<\?[^>]*>)+/;
/** Section 7: text by its looks, another type all the same. */
const TEXTUAL_SIGNATURE = /^%(?:PDF-|!PS-Adobe-)|^GIF8[79]a/;
/** Section 3. */
const isBinaryByte = (code: number): boolean =>
  code <= 0x08 || code === 0x0b || (code >= 0x0e && code <= 0x1a) || (code >= 0x1c && code <= 0x1f);
const isBinary = (text: string): boolean => Array.from(text, (it) => it.charCodeAt(0)).some(isBinaryByte);

/** The start of it, as far as ASCII goes. */
function readHead(head: Buffer, charset: string | null): string {
  const encoding = charsetOfMark(head) ?? charset?.toLowerCase() ?? '';
  if (encoding.startsWith('utf-16'))
    return new TextDecoder(encoding === 'utf-16be' ? encoding : 'utf-16le').decode(head);
  return head.toString('latin1').replace(/^\xef\xbb\xbf/, '');
}

/**
 * Whether bytes are HTML, XHTML included, by the MIME Sniffing Standard: what they begin with decides. Only where they
 * begin with nothing in particular the Content-Type is believed, as it is of nothing at all, whatever control characters
 * follow.
 *
 * @param contentType value of the header; null when there is none
 */
export function isHtml(bytes: Uint8Array, contentType: string | null): boolean {
  const { essence, charset } = readContentType(contentType);
  const declared = essence === 'text/html' || essence === XHTML_TYPE;
  const first = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD_BYTES));
  const head = readHead(first, charset).trimStart();
  const start = head.replace(BEFORE_TAG, '');
  if ((head.startsWith('<?xml') ? XHTML : TAG).test(start)) return true;
  if (FEED.test(start) || TEXTUAL_SIGNATURE.test(head)) return false;
  const latin1 = first.toString('latin1');
  if (isBinary(latin1) && hasBinarySignature(latin1)) return false;
  if (isBinary(head)) return declared;
  return declared || (head.startsWith('<!--') && (start === '' || start.startsWith('<!--')));
}
