import { MIMEType } from 'node:util';

/** The parts of a Content-Type that matter for a page. */
export interface ContentType {
  /** `type/subtype` in lower case; empty where there is none, or none that can be read. */
  essence: string;
  /** The label of the character encoding, as the server wrote it. */
  charset: string | null;
}

export const XHTML_TYPE = 'application/xhtml+xml';

/** @param field value of the header; null when there is none */
export function readContentType(field: string | null): ContentType {
  try {
    const { essence, params } = new MIMEType(field ?? '');
    return { essence, charset: params.get('charset') };
  } catch {
    return { essence: '', charset: null };
  }
}
