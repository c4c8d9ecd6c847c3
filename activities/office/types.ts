/** A document type that can be converted. */
export interface DocumentType {
  extension: 'doc' | 'docx' | 'odt' | 'rtf';
  /** LibreOffice's import filter; '' lets it detect the filter of an old Word version. */
  filter: string;
}

export const DOCX: DocumentType = { extension: 'docx', filter: 'MS Word 2007 XML' };
export const ODT: DocumentType = { extension: 'odt', filter: 'writer8' };
export const RTF: DocumentType = { extension: 'rtf', filter: 'Rich Text Format' };
export const DOC: DocumentType = { extension: 'doc', filter: 'MS Word 97' };
export const OLD_DOC: DocumentType = { extension: 'doc', filter: '' };
