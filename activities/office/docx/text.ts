import type { SourceText } from '../sourceText.ts';
import { scanXml, type Tag } from '../xml.ts';
import { createBoxes } from './boxes.ts';
import { showsResult, withNested } from './fields.ts';
import type { Styles } from './styles.ts';

/** Facts about a document that decide which text of a part is shown. */
export interface TextOptions {
  styles: Styles;
  /** Ids of notes to read, in a part with notes. Default: all. */
  notes?: ReadonlySet<string>;
  /** Get the ids of the notes whose marks are shown. */
  marked?: Marked;
}

/** Ids of notes by their kind. */
export type Marked = Record<'footnotes' | 'endnotes', Set<string>>;

/** Elements whose text is not shown, or belongs to no paragraph. */
const SKIPPED = new Set([
  ...['w:del', 'w:moveFrom', 'w:sdtPr', 'w:ffData', 'w:pPrChange', 'w:rPrChange', 'w:binData'],
  ...['w:comment', 'w:rt'],
]);
/** A part of a formula that need not be shown. */
const PHANTOM = 'm:phant';
/** Prefixes of the extensions that Word knows, in which an alternative of a part is written (ECMA-376-3, 10.2.1). */
const KNOWN = /^(?:wp[scgi]|wp?1\d\w*|w16\w*|[acx]1\d\w*|cx\d?|am3d|aink|oel|sl|m|v|o|wp|pic|a|c|dgm)$/;
const NOTES = new Set(['w:footnote', 'w:endnote']);
/** Fonts whose letters are symbols. */
export const SYMBOLS = /^(?:symbol|wingdings|webdings|zapfdingbats|mt extra|marlett)/i;
const OFF = /^(?:0|false|off)$/;

/** An element that is open. */
interface Element {
  name: string;
  skipped: boolean;
  loose: boolean;
}

interface Paragraph {
  sure: string;
  loose: string;
  hidden: boolean;
  /** Size of its letters in points, unless a run has another one. */
  size: number;
  /** Whether it is in a frame of fixed height, which cuts its text off. */
  cut: boolean;
}

interface Run {
  sure: string;
  loose: string;
  hidden: boolean;
  size: number;
}

/** Reads the text that a part of a Word document shows. */
export function readText(xml: string, { styles, notes, marked }: TextOptions): SourceText {
  const result: SourceText = { sure: [], loose: [] };
  const boxes = createBoxes(result);
  const path: Element[] = [];
  const newParagraph = (): Paragraph => ({
    ...{ sure: '', loose: '', hidden: false, cut: false },
    size: styles.sizeOf(''),
  });
  const paragraphs: Paragraph[] = [newParagraph()];
  const runs: Run[] = [];
  const fields: { instruction: string; state: 'instruction' | 'shown' | 'hidden' }[] = [];

  const isSkipped = () =>
    path.some(({ skipped }) => skipped) || fields.some(({ state }) => state !== 'shown');
  const nearest = (name: string) => path.findLast((it) => it.name === name);
  /** For each mc:AlternateContent that is open, whether one of its alternatives is shown. */
  const chosen: boolean[] = [];

  /** Whether another alternative is shown instead of this one. */
  function isOther(name: string, requires: string): boolean {
    const last = chosen.length - 1;
    if (name !== 'mc:Choice' && name !== 'mc:Fallback') return false;
    const isKnown = name === 'mc:Fallback' || requires.split(/\s+/).every((prefix) => KNOWN.test(prefix));
    if (chosen[last] || !isKnown) return true;
    chosen[last] = true;
    return false;
  }

  function end(): void {
    const paragraph = paragraphs.at(-1);
    if (paragraph === undefined) return;
    if (paragraph.sure.trim() !== '') boxes.text.sure.push(paragraph.sure);
    if (paragraph.loose.trim() !== '') boxes.text.loose.push(paragraph.loose);
  }

  function write(text: string): void {
    const run = runs.at(-1);
    if (run === undefined || isSkipped()) return;
    if (text.trim() !== '') boxes.letters(run.size);
    if (paragraphs.at(-1)?.cut || path.some(({ loose }) => loose)) run.loose += text;
    else run.sure += text;
  }

  function open(tag: Tag): void {
    const { name, attributes } = tag;
    boxes.open(tag);
    const grandparent = path.at(-2)?.name;
    const isForeignNote = NOTES.has(name) && notes !== undefined && !notes.has(attributes['w:id'] ?? '');
    if (name === 'mc:AlternateContent') chosen.push(false);
    const skipped = SKIPPED.has(name) || isForeignNote || isOther(name, attributes.Requires ?? '');
    path.push({ name, skipped, loose: name === PHANTOM });
    const value = attributes['w:val'] ?? '';
    const run = grandparent === 'w:r' ? runs.at(-1) : undefined;
    const paragraph = paragraphs.at(-1);
    switch (name) {
      case 'w:p':
        paragraphs.push(newParagraph());
        break;
      case 'w:pStyle':
        if (paragraph !== undefined)
          Object.assign(paragraph, { hidden: styles.hidden.has(value), size: styles.sizeOf(value) });
        break;
      case 'w:framePr':
        if (paragraph !== undefined) paragraph.cut = attributes['w:hRule'] === 'exact';
        break;
      case 'w:hidden': {
        const row = grandparent === 'w:tr' ? nearest('w:tr') : undefined;
        if (row !== undefined) row.skipped = !OFF.test(value);
        break;
      }
      case 'w:vMerge':
      case 'w:hMerge': {
        const cell = nearest('w:tc');
        // The content of a cell that continues another one is not shown.
        if (cell !== undefined && value !== 'restart') cell.skipped = true;
        break;
      }
      // Word and LibreOffice show the bound data instead of the text.
      case 'w:dataBinding':
      case 'w:showingPlcHdr': {
        const control = nearest('w:sdt');
        if (control !== undefined) control.loose = true;
        break;
      }
      case 'w:r':
      case 'm:r':
        runs.push({ hidden: paragraph?.hidden ?? false, size: paragraph?.size ?? 0, sure: '', loose: '' });
        break;
      case 'w:sz':
        if (run !== undefined && Number(value) > 0) run.size = Number(value) / 2;
        break;
      case 'w:vanish':
        if (run !== undefined) run.hidden = !OFF.test(value);
        break;
      case 'w:rStyle':
        if (run !== undefined) run.hidden ||= styles.hidden.has(value);
        break;
      case 'w:rFonts':
        if (run !== undefined) run.hidden ||= SYMBOLS.test(attributes['w:ascii'] ?? '');
        break;
      case 'w:footnoteReference':
      case 'w:endnoteReference':
        if (!isSkipped() && runs.at(-1)?.hidden !== true)
          marked?.[name === 'w:footnoteReference' ? 'footnotes' : 'endnotes'].add(attributes['w:id'] ?? '');
        // The mark is shown between the letters around it.
        write(' ');
        break;
      case 'w:tab':
      case 'w:br':
      case 'w:cr':
        write(' ');
        break;
      case 'w:noBreakHyphen':
        write('-');
        break;
      case 'w:fldChar':
        onField(attributes['w:fldCharType']);
        break;
      case 'w:fldSimple':
        fields.push(shown(attributes['w:instr'] ?? ''));
        break;
    }
  }

  const shown = (instruction: string) =>
    ({ instruction, state: showsResult(instruction) ? 'shown' : 'hidden' }) as const;

  function onField(kind: string | undefined): void {
    if (kind === 'begin') fields.push({ instruction: '', state: 'instruction' });
    else if (kind === 'separate') fields.push(shown(fields.pop()?.instruction ?? ''));
    else if (kind === 'end') {
      const nested = fields.pop();
      const outer = fields.at(-1);
      if (nested !== undefined && outer?.state === 'instruction')
        outer.instruction = withNested(outer.instruction, nested.instruction);
    }
  }

  function close(name: string): void {
    path.pop();
    if (name === 'mc:AlternateContent') chosen.pop();
    if (name === 'w:p') {
      end();
      paragraphs.pop();
    } else if (name === 'w:r' || name === 'm:r') {
      const run = runs.pop();
      const paragraph = paragraphs.at(-1);
      if (run === undefined || paragraph === undefined || run.hidden) return;
      // The parts of a formula are apart, such as an exponent.
      const space = name === 'm:r' ? ' ' : '';
      paragraph.sure += space + run.sure + space;
      paragraph.loose += space + run.loose + space;
    } else if (name === 'w:fldSimple') fields.pop();
    boxes.close(name);
  }

  function text(data: string): void {
    const name = path.at(-1)?.name;
    const field = fields.at(-1);
    if (name === 'w:t' || name === 'm:t') write(data);
    else if (name === 'w:instrText' && field?.state === 'instruction') field.instruction += data;
  }

  scanXml(xml, { open, close, text });
  return result;
}
