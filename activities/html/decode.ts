import { legacyHookDecode } from '@exodus/bytes/encoding.js';
import sniffEncoding from 'html-encoding-sniffer';
import { decodeStrictly } from '../download/charset.ts';
import { readContentType, XHTML_TYPE } from './contentType.ts';

/** Number of bytes that the HTML Standard suggests to scan for a declared encoding (section 13.2.3.2). */
const PRESCAN_BYTES = 1024;
/**
 * Maximum number of bytes to scan for a declared encoding. Like browsers, the scan goes on to the end of the head; the
 * limit is for pages whose head is never closed.
 */
const HEAD_BYTES = 64 * 1024;
const HEAD_END = /<\/head|<body/i;
/** Encoding of pages that declare no encoding and are not valid UTF-8 (HTML Standard, section 13.2.3.2, step 9). */
const FALLBACK = 'windows-1252';

function prescanBytes(bytes: Uint8Array): number {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD_BYTES));
  const end = head.toString('latin1').search(HEAD_END);
  return end === -1 ? HEAD_BYTES : Math.max(PRESCAN_BYTES, end);
}

/**
 * Returns the encoding of an HTML or XML document, from its byte order mark, else from the charset of its Content-Type,
 * else from the declaration in the document: `<meta charset>`, its `http-equiv` form or an XML declaration. Returns ''
 * when none of them names an encoding.
 *
 * @param charset label in the Content-Type; null when missing
 */
export const declaredEncoding = (bytes: Uint8Array, kind: 'html' | 'xml', charset: string | null): string =>
  sniffEncoding(bytes, {
    transportLayerEncodingLabel: charset ?? undefined,
    defaultEncoding: '',
    ...(kind === 'xml' ? { xml: true } : { maxPrescanBytes: prescanBytes(bytes) }),
  });

/**
 * Decodes a page by the HTML Standard's encoding sniffing algorithm: byte order mark, then Content-Type, then `<meta
 * charset>`, its `http-equiv` form or an XML declaration. A page without a declared encoding is decoded as UTF-8 if it
 * is valid UTF-8, else as windows-1252. Bytes that are invalid in the encoding become U+FFFD, as in browsers.
 *
 * @param contentType value of the Content-Type header; null when missing
 */
export function decodePage(bytes: Uint8Array, contentType: string | null): string {
  const { essence, charset } = readContentType(contentType);
  const xml = essence === XHTML_TYPE;
  const encoding = declaredEncoding(bytes, xml ? 'xml' : 'html', charset) || (xml ? 'UTF-8' : '');
  if (encoding !== '') return legacyHookDecode(bytes, encoding);
  return (
    decodeStrictly(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), 'utf-8') ??
    legacyHookDecode(bytes, FALLBACK)
  );
}
