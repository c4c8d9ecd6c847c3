import type { Edit, Tag } from '../xml.ts';
import { markerOf, type PageNumber, readPageNumber } from './pageNumbers.ts';

const WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';

/**
 * Fields that stay fields (ECMA-376-1, 17.16.5), because LibreOffice computes them from its own layout, makes links or form
 * controls of them, or because Word stores or shows no result of them. The others are replaced by the result that Word stored, which is what
 * Word shows: LibreOffice loses the results of some, such as IF, and recomputes others, such as DATE.
 */
const KEPT = new Set(
  (
    'PAGE NUMPAGES PAGEREF STYLEREF NOTEREF FILENAME TOC TOA INDEX HYPERLINK FORMTEXT FORMCHECKBOX ' +
    'FORMDROPDOWN TC XE TA RD ADVANCE MACROBUTTON GOTOBUTTON AUTONUM AUTONUMLGL AUTONUMOUT LISTNUM SET ASK'
  ).split(' '),
);
/** Kept fields whose stored result LibreOffice shows. */
const SHOWN = new Set(['TOC', 'TOA', 'INDEX', 'HYPERLINK', 'FORMTEXT']);

/** Further fields whose results LibreOffice recomputes if they stay fields. */
const COMPUTED = new Set(
  (
    'DATE TIME AUTHOR TITLE SUBJECT KEYWORDS COMMENTS DOCPROPERTY CREATEDATE SAVEDATE PRINTDATE EDITTIME NUMWORDS NUMCHARS ' +
    'REVNUM LASTSAVEDBY USERNAME USERINITIALS SEQ REF FILESIZE INFO TEMPLATE INCLUDEPICTURE INCLUDETEXT LINK EMBED DDE DDEAUTO'
  ).split(' '),
);

/** Switches with which a reference shows the number or the place of a paragraph instead of its text. */
const NUMBER = /\\[nprtw]\b/i;

const nameOf = (instruction: string): string => /^\s*(\S+)/.exec(instruction)?.[1]?.toUpperCase() ?? '';

const isKept = (instruction: string): boolean => {
  const name = nameOf(instruction);
  // With the switch \h, a reference is a link. Those to numbers of paragraphs are empty where LibreOffice has no number.
  return KEPT.has(name) || (name === 'REF' && /\\h\b/i.test(instruction) && !NUMBER.test(instruction));
};

const REFERENCE = /^\s*(?:REF|PAGEREF|NOTEREF)\s+"?([^\s"\\]+)/i;
const STYLE = /^\s*STYLEREF\s+(?:"([^"]+)"|(\S+))/i;
/** Styles that Word has without a definition. */
const BUILT_IN = /^(?:[1-9]|heading [1-9])$/;
/** Whether LibreOffice would show an error, or nothing, for a field that stays one. */
function isBroken(instruction: string, { isMain, bookmarks, styles }: FieldFacts): boolean {
  const [, bookmark] = REFERENCE.exec(instruction) ?? [];
  if (bookmark !== undefined) return !bookmarks.has(bookmark);
  const [, quoted, plain] = STYLE.exec(instruction) ?? [];
  const style = (quoted ?? plain)?.toLowerCase();
  if (style === undefined) return false;
  // Only in a header the text depends on the page. LibreOffice has no numbers of paragraphs instead of their text.
  if (isMain || NUMBER.test(instruction)) return true;
  // The id that Word gives to a style is made of its name in the language of the program.
  const isKnown = styles.has(style) || styles.has(style.replace(/[^a-z0-9]/g, ''));
  return !isKnown && !BUILT_IN.test(style);
}

/** Facts about a part and its document. */
export interface FieldFacts {
  /** Whether it is the main part. */
  isMain: boolean;
  /** The numbers of the sections that begin a page. */
  starts: readonly number[];
  /** The names of all bookmarks of the document. */
  bookmarks: ReadonlySet<string>;
  /** The names and ids of its styles, in small letters. */
  styles: ReadonlySet<string>;
}

/** Whether the PDF shows the result of the field that the document stores. @param instruction with nested fields in braces */
export const showsResult = (instruction: string): boolean =>
  readPageNumber(instruction) === null && (!isKept(instruction) || SHOWN.has(nameOf(instruction)));

/** Returns the instruction of a field with that of a field nested in it. */
export const withNested = (instruction: string, nested: string): string => `${instruction}{${nested.trim()}}`;

/** Whether LibreOffice shows the stored result of a field that stays one. */
export const keepsResult = (instruction: string): boolean =>
  showsResult(instruction) && !COMPUTED.has(nameOf(instruction));

/** Content that a field can have as its result. */
const CONTENT = new Set(['w:t', 'w:drawing', 'w:pict', 'w:object', 'w:sym', 'w:tab', 'w:br']);

interface ComplexField {
  instruction: string;
  hasResult: boolean;
  /** Start of its first w:fldChar. */
  start: number;
  /** End of the w:fldChar that separates the instruction from the result. */
  separated: number | null;
  /** Tags between `start` and `separated` whose counterpart is outside. */
  closed: { name: string; text: string }[];
  opened: { name: string; text: string }[];
}

interface SimpleField {
  instruction: string;
  hasResult: boolean;
  tag: Tag;
}

/**
 * Collects the edits that replace fields by their results. A field consists of runs: one with the character "begin", some with
 * the instruction, one with "separate", some with the result, one with "end". Runs and paragraphs can begin within the
 * instruction and end after it, so that the tags that have no counterpart within the instruction stay.
 *
 * The number of a section is known in the main part. In a header it is that of the last section that began a page.
 */
export function createFieldEdits(xml: string, facts: FieldFacts) {
  const edits: Edit[] = [];
  const open: ComplexField[] = [];
  const simple: SimpleField[] = [];
  let character: { kind: string | undefined; start: number } | null = null;
  /** Number of the section, and how many of the elements that end it are open. */
  let section = 1;
  let ending = 0;

  const stays = (text: string): boolean => isKept(text) && !isBroken(text, facts);
  const readNumber = (text: string): PageNumber | null => {
    const number = readPageNumber(text);
    if (number?.of !== 'SECTION') return number;
    return { ...number, ...(facts.isMain ? { offset: section } : { starts: facts.starts }) };
  };

  /** Fields that are within their instruction; their tags are counted. */
  const inInstruction = () => open.filter(({ separated }) => separated === null);

  function onCharacter(kind: string | undefined, start: number, end: number): void {
    const field = open.at(-1);
    if (kind === 'separate' && field !== undefined) {
      field.separated = end;
    } else if (kind === 'end' && field !== undefined) {
      open.pop();
      // A field within the instruction of another one is removed with it, or belongs to a field that is kept.
      const outer = open.at(-1);
      if (outer !== undefined && outer.separated === null)
        outer.instruction = withNested(outer.instruction, field.instruction);
      if (inInstruction().length > 0) return;
      const number = readNumber(field.instruction);
      if (number !== null) edits.push(markField(field, number, end));
      if (number !== null || field.separated === null || !field.hasResult || stays(field.instruction)) return;
      edits.push({ start: field.start, end: field.separated, text: unmatched(field) });
      edits.push({ start, end, text: '' });
    }
  }

  return {
    edits,
    open(tag: Tag): void {
      const { name } = tag;
      if (name === 'w:sectPr') ending += 1;
      if (name === 'w:fldChar') {
        character = { kind: tag.attributes['w:fldCharType'], start: tag.start };
        if (character.kind === 'begin')
          open.push({
            instruction: '',
            hasResult: false,
            start: tag.start,
            separated: null,
            closed: [],
            opened: [],
          });
      }
      for (const { opened } of inInstruction()) opened.push({ name, text: xml.slice(tag.start, tag.end) });
      if (CONTENT.has(name)) {
        for (const field of open) if (field.separated !== null) field.hasResult = true;
        for (const field of simple) field.hasResult = true;
      }
      if (name === 'w:fldSimple')
        simple.push({ instruction: tag.attributes['w:instr'] ?? '', hasResult: false, tag });
    },
    instruction(text: string): void {
      const field = open.at(-1);
      if (field !== undefined && field.separated === null) field.instruction += text;
    },
    close(name: string, start: number, end: number): void {
      // A section can contain an earlier version of itself.
      if (name === 'w:sectPr' && --ending === 0) section += 1;
      for (const { opened, closed } of inInstruction())
        if (opened.pop() === undefined) closed.push({ name, text: xml.slice(start, end) });
      if (name === 'w:fldChar' && character !== null) {
        onCharacter(character.kind, character.start, end);
        character = null;
      }
      if (name === 'w:fldSimple') {
        const field = simple.pop();
        if (field === undefined) return;
        const number = readNumber(field.instruction);
        if (number !== null) {
          const { tag, hasResult } = field;
          const opening = `<w:fldSimple ${WORD} w:instr="${markerOf(number).replaceAll('"', '&quot;')}">`;
          const closing = `${hasResult ? '' : `<w:r ${WORD}>${RESULT}</w:r>`}</w:fldSimple>`;
          if (tag.selfClosing) edits.push({ ...tag, text: opening + closing });
          else edits.push({ ...tag, text: opening }, { start, end, text: closing });
        }
        if (number !== null || !field.hasResult || stays(field.instruction)) return;
        edits.push({ start: field.tag.start, end: field.tag.end, text: '' });
        edits.push({ start, end, text: '' });
      }
    },
  };
}

const character = (kind: string): string => `<w:fldChar ${WORD} w:fldCharType="${kind}"/>`;
/** Result of a field of which Word stored none. LibreOffice needs one, and forkServer.py replaces it. */
const RESULT = `<w:t ${WORD}>0</w:t>`;

/** Gives a field another instruction, and a result if it has none. @param end of its last w:fldChar */
function markField(field: ComplexField, number: PageNumber, end: number): Edit {
  const { start, separated, hasResult } = field;
  const instruction = `<w:instrText ${WORD} xml:space="preserve"> ${markerOf(number)} </w:instrText>`;
  const text = character('begin') + instruction + character('separate') + (hasResult ? '' : RESULT);
  if (separated === null) return { start, end, text: text + character('end') + unmatched(field) };
  return { start, end: separated, text: text + unmatched(field) };
}

/** Returns the tags that must stay when an instruction is removed. A pair that ends and begins the same element is not needed. */
function unmatched({ closed, opened }: ComplexField): string {
  let pairs = 0;
  while (pairs < closed.length && closed[closed.length - 1 - pairs]?.name === opened[pairs]?.name) pairs += 1;
  const kept = [...closed.slice(0, closed.length - pairs), ...opened.slice(pairs)];
  return kept.map(({ text }) => text).join('');
}
