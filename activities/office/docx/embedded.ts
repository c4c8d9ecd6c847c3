import { decodePage } from '../../html/decode.ts';
import { htmlText } from '../../html/text.ts';
import { readMhtml } from '../mhtml.ts';
import { readRtf } from '../rtf.ts';
import type { SourceText } from '../sourceText.ts';

/** A document within a document, as LibreOffice inserts it. */
export interface EmbeddedDocument {
  bookmark: string;
  /** Name of LibreOffice's import filter. */
  filter: string;
  bytes: Uint8Array;
  text: SourceText;
}

const HTML = 'HTML (StarWriter)';
const RTF = 'Rich Text Format';
const ELEMENT = /<(?:!doctype|\/?[a-z][a-z0-9]*)\b[^<>]*>/i;
const META = /<meta\b[^<>]*>/gi;
/** Removes statements of an encoding, which is no longer that of the text. */
const withoutCharset = (html: string): string =>
  html.replace(META, (tag) => (/\bcharset\b/i.test(tag) ? '' : tag));

/** Returns how LibreOffice inserts an embedded document (ECMA-376-1, 17.17.2.1): HTML, MHTML, RTF or plain text. */
export function prepareEmbedded(bookmark: string, part: string, bytes: Buffer): EmbeddedDocument {
  const start = bytes.toString('latin1', 0, 1000);
  if (start.startsWith('{\\rtf')) return { bookmark, filter: RTF, bytes, text: readRtf(bytes).text };
  const isMhtml = /\.mht(?:ml)?$/i.test(part) || /^(?:mime-version|content-type):/im.test(start);
  const html = isMhtml ? readMhtml(bytes) : decodePage(bytes, null);
  const isHtml = isMhtml || /\.x?html?$/i.test(part) || (!/\.txt$/i.test(part) && ELEMENT.test(start));
  const markup = isHtml
    ? withoutCharset(html)
    : `<pre>${html.replace(/&/g, '&amp;').replace(/</g, '&lt;')}</pre>`;
  const sure = htmlText(markup).split('\n');
  const utf8 = `<meta http-equiv="Content-Type" content="text/html; charset=utf-8">${markup}`;
  return { bookmark, filter: HTML, bytes: Buffer.from(utf8), text: { sure, loose: [] } };
}
