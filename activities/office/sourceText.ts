/** The text that a document shows, by paragraphs. */
export interface SourceText {
  /** Text that every correct PDF of the document shows. */
  sure: string[];
  /** Text that may be cut off or that programs show differently: text boxes, cells of fixed height, formulas, placeholders. */
  loose: string[];
}
