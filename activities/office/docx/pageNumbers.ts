/** A number of a page or section, or a number of pages, that LibreOffice has no field of its own for. */
export interface PageNumber {
  /** The number: of the page, of the section, of the pages of the document, or of those of the section. */
  of: 'PAGE' | 'SECTION' | 'NUMPAGES' | 'SECTIONPAGES';
  /** Number that the field adds, from expressions such as `= {NUMPAGES} - 1`; 0 for none. */
  offset: number;
  /**
   * Format: roman, Roman, alphabetic, Alphabetic, cardtext, ordtext, ordinal, hex or arabicdash (ECMA-376-1, 17.16.4.3.1), the names
   * of words followed by that of their letters: caps, firstcap or upper. Or zeros for as many digits at least; '' for plain numbers.
   */
  format: string;
  /** In a header with the number of a section: the numbers of the sections that begin a page. */
  starts?: readonly number[];
}

/** Prefix of the name of the document property as which forkServer.py recognizes such a field. */
const PREFIX = '_pages';
const SWITCHES = String.raw`((?:\s*\\[*#]\s*(?:"[^"]*"|[^\s"\\]+))*)\s*$`;
const NUMBER = /^\s*(PAGE|NUMPAGES|SECTIONPAGES|SECTION|DOCPROPERTY\s+"?Pages"?(?=\s|$))(?![a-z])/i;
const DIRECT = new RegExp(NUMBER.source + SWITCHES, 'i');
/** A formula with a nested field in braces, such as = {NUMPAGES} - 1. */
const FORMULA = new RegExp(
  String.raw`^\s*=\s*\{\s*(PAGE|NUMPAGES|SECTIONPAGES)\b[^{}]*\}\s*(?:([+-])\s*(\d{1,4}))?${SWITCHES}`,
  'i',
);
const KINDS = ['PAGE', 'SECTION', 'SECTIONPAGES'] as const;
/** Longer instructions are none of these, and would make the patterns slow. */
const MAX_LENGTH = 200;
const FORMAT = /\\\*\s*"?(roman|alphabetic|cardtext|ordtext|ordinal|hex|arabicdash)\b/i;
/** How words are written; without it, in small letters. */
const LETTERS = /\\\*\s*"?(caps|firstcap|upper)\b/i;
/** Formats of page numbers that LibreOffice shows as Word does. */
const SHOWN = /^(?:roman|alphabetic)?$/i;
const ZEROS = /\\#\s*"?(0+)(?=["\s]|$)/;

function formatOf(switches: string): string {
  const name = FORMAT.exec(switches)?.[1];
  if (name === undefined) return ZEROS.exec(switches)?.[1] ?? '';
  // The first letter decides on the letters of the number.
  if (SHOWN.test(name)) return name.charAt(0) + name.slice(1).toLowerCase();
  return `${name} ${LETTERS.exec(switches)?.[1] ?? ''}`.trim().toLowerCase();
}

const kindOf = (name: string): PageNumber['of'] =>
  KINDS.find((kind) => kind === name.toUpperCase()) ?? 'NUMPAGES';

/**
 * Reads the instruction of a field that shows a number of a section or of pages, or computes with one page number.
 *
 * @param instruction with nested fields in braces
 * @returns null for other fields, and for numbers that LibreOffice shows as Word does
 */
export function readPageNumber(instruction: string): PageNumber | null {
  if (instruction.length > MAX_LENGTH) return null;
  const formula = FORMULA.exec(instruction);
  if (formula !== null) {
    const [, name = '', sign = '', digits = '0', switches = ''] = formula;
    return { of: kindOf(name), offset: Number(sign + digits), format: formatOf(switches) };
  }
  const [, name, switches = ''] = DIRECT.exec(instruction) ?? [];
  if (name === undefined) return null;
  const format = formatOf(switches);
  const isPlain = /^NUMPAGES$/i.test(name) ? format === '' : /^PAGE$/i.test(name) && SHOWN.test(format);
  return isPlain ? null : { of: kindOf(name), offset: 0, format };
}

/** Largest number of sections that a marker lists. */
const MAX_STARTS = 50;

/** Returns the instruction of a field that forkServer.py replaces by the number. */
export const markerOf = ({ of, offset, format, starts = [] }: PageNumber): string =>
  `DOCPROPERTY "${PREFIX} ${[of, offset, starts.slice(0, MAX_STARTS).join() || '-', format].join(' ')}"`;
