import { MIMEType } from 'node:util';

/** The parts of a Content-Type that affect how a page is decoded and parsed. */
export interface ContentType {
  /** `type/subtype` in lower case; empty when missing or invalid. */
  essence: string;
  /** Encoding label as the server sent it; null when missing. */
  charset: string | null;
}

export const XHTML_TYPE = 'application/xhtml+xml';

/** Parses a Content-Type. @param field value of the header; null when the header is missing */
export function readContentType(field: string | null): ContentType {
  try {
    const { essence, params } = new MIMEType(field ?? '');
    return { essence, charset: params.get('charset') };
  } catch {
    return { essence: '', charset: null };
  }
}
