import { charsetOfMark } from '../download/charset.ts';
import { readContentType, XHTML_TYPE } from './contentType.ts';
import { hasBinarySignature } from './signatures.ts';

/**
 * Number of bytes at the start of a response that decide its type (the "resource header" of the MIME Sniffing Standard,
 * section 5.2).
 */
const HEAD_BYTES = 1445;
/**
 * Tags that identify HTML (MIME Sniffing Standard, section 7.1). Unlike the standard, also allows a line break after
 * the tag name.
 */
const TAG =
  /^<(?:!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s/>]/i;
const XHTML = /^<(?:!doctype\s+html|html)[\s/>]/i;
const FEED = /^<(?:rss|feed|rdf:rdf)[\s/>]/i;
/** White space, comments and processing instructions before the first tag. */
const BEFORE_TAG = /^(?:\s+|<!--[\s\S]*?-->|<\?[^>]*>)+/;
/** Signatures of file types that look like text but are not HTML (MIME Sniffing Standard, section 7). */
const TEXTUAL_SIGNATURE = /^%(?:PDF-|!PS-Adobe-)|^GIF8[79]a/;
/** Whether a byte is a "binary data byte" (MIME Sniffing Standard, section 3). */
const isBinaryByte = (code: number): boolean =>
  code <= 0x08 || code === 0x0b || (code >= 0x0e && code <= 0x1a) || (code >= 0x1c && code <= 0x1f);
const isBinary = (text: string): boolean => Array.from(text, (it) => it.charCodeAt(0)).some(isBinaryByte);

/** Decodes the first bytes of a response, accurately enough to find ASCII markup in them. */
function readHead(head: Buffer, charset: string | null): string {
  const encoding = charsetOfMark(head) ?? charset?.toLowerCase() ?? '';
  if (encoding.startsWith('utf-16'))
    return new TextDecoder(encoding === 'utf-16be' ? encoding : 'utf-16le').decode(head);
  return head.toString('latin1').replace(/^\xef\xbb\xbf/, '');
}

/**
 * Whether bytes are HTML or XHTML by the MIME Sniffing Standard. The first bytes decide. The Content-Type decides only
 * when the first bytes match no known type, which includes an empty body and one with control characters.
 *
 * @param contentType value of the Content-Type header; null when missing
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
