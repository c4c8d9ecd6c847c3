/** A document type that can be converted. */
export interface DocumentType {
  extension: 'doc' | 'docx' | 'docm' | 'dotx' | 'dotm' | 'odt' | 'rtf';
  /** Name of LibreOffice's import filter; '' lets LibreOffice detect the filter, for versions before Word 97. */
  filter: string;
}

const WORD_XML = 'MS Word 2007 XML';

export const DOCX: DocumentType = { extension: 'docx', filter: WORD_XML };
/** Documents with macros and templates have the format of .docx. */
export const DOCM: DocumentType = { extension: 'docm', filter: WORD_XML };
export const DOTX: DocumentType = { extension: 'dotx', filter: WORD_XML };
export const DOTM: DocumentType = { extension: 'dotm', filter: WORD_XML };
export const ODT: DocumentType = { extension: 'odt', filter: 'writer8' };
export const RTF: DocumentType = { extension: 'rtf', filter: 'Rich Text Format' };
export const DOC: DocumentType = { extension: 'doc', filter: 'MS Word 97' };
export const OLD_DOC: DocumentType = { extension: 'doc', filter: '' };
