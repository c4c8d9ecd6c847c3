import { legacyHookDecode } from '@exodus/bytes/encoding.js';
import { keepsResult } from './docx/fields.ts';
import type { SourceText } from './sourceText.ts';

/**
 * Groups whose text is not shown in the document (RTF 1.9.1). Groups that begin with \* are unknown to old programs; their text is
 * not shown either, but for `shptxt`, `pn…` and the like, which are not read.
 */
const SKIPPED = new Set(
  (
    'colortbl stylesheet info pict object fldinst header headerl headerr headerf footer footerl footerr footerf ' +
    'listtable listoverridetable revtbl rsidtbl generator xmlnstbl themedata colorschememapping datastore latentstyles ' +
    'annotation atnid atnauthor nonshppict bkmkstart bkmkend pntext pntxta pntxtb listtext ftnsep ftnsepc aftnsep aftnsepc ' +
    'template filetbl private1 xe tc datafield formfield shpinst'
  ).split(' '),
);
const CHARACTERS: Readonly<Record<string, string>> = {
  tab: ' ',
  line: ' ',
  cell: '\n',
  row: '\n',
  par: '\n',
  page: '\n',
  sect: '\n',
  emdash: '—',
  endash: '–',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
  bullet: '•',
};

interface Group {
  skipped: boolean;
  hidden: boolean;
  isInstruction: boolean;
  isFontTable: boolean;
  /** Number of characters after \u that repeat it for old programs. */
  unicodeSkip: number;
}

const OUTERMOST: Group = {
  skipped: false,
  hidden: false,
  isInstruction: false,
  isFontTable: false,
  unicodeSkip: 1,
};

/** Finds control words, control symbols with their argument, groups, and text. */
const TOKEN = /\\([a-z]+)(-?\d+)? ?|\\'([0-9a-f]{2})|\\([^a-z])|([{}])|([^\\{}\r\n]+)|[\r\n]+/gi;

/** The text of an RTF document and its fonts. */
interface RtfContent {
  text: SourceText;
  /** The font families that it uses. */
  families: string[];
}

/** Reads the text that an RTF document shows. Its bytes are decoded with the code page of the document, not of the font. */
export function readRtf(bytes: Buffer): RtfContent {
  const rtf = bytes.toString('latin1');
  const codePage = /\\ansicpg(\d+)/.exec(rtf)?.[1] ?? '1252';
  const decode = (byte: number): string => {
    try {
      return legacyHookDecode(Uint8Array.of(byte), `windows-${codePage}`);
    } catch {
      return ' ';
    }
  };
  const groups: Group[] = [{ ...OUTERMOST }];
  const text = { sure: '', loose: '' };
  let field = '';
  /** Whether the row has a fixed height, which cuts text off, and whether the paragraph is in it. */
  let isFixedRow = false;
  let isInTable = false;
  /** Names in the font table by number, and the number of the font that is being read. */
  const fonts = new Map<string, string>();
  const used = new Set<string>();
  let font = '';
  let repeated = 0;
  let isStart = false;

  const write = (piece: string): void => {
    const group = groups.at(-1);
    if (group?.isInstruction) field += piece;
    else if (group?.isFontTable && !group.skipped) fonts.set(font, (fonts.get(font) ?? '') + piece);
    else if (group !== undefined && !group.skipped && !group.hidden)
      text[isFixedRow && isInTable ? 'loose' : 'sure'] += piece;
  };

  function onWord(word: string, argument: string | undefined): void {
    const group = groups.at(-1);
    if (group === undefined) return;
    if (isStart && word === 'fonttbl') group.isFontTable = true;
    else if (isStart && SKIPPED.has(word)) group.skipped = true;
    if (word === 'f' && group.isFontTable) font = argument ?? '0';
    else if (word === 'f') used.add(argument ?? '0');
    if (word === 'trowd') isFixedRow = false;
    else if (word === 'trrh') isFixedRow = Number(argument) < 0;
    else if (word === 'pard') isInTable = false;
    else if (word === 'intbl') isInTable = true;
    if (word === 'fldinst') {
      group.isInstruction = true;
      field = '';
    } else if (word === 'fldrslt') group.skipped ||= !keepsResult(field);
    if (word === 'v' || word === 'deleted') group.hidden = argument !== '0';
    else if (word === 'plain') group.hidden = false;
    else if (word === 'uc') group.unicodeSkip = Number(argument ?? 1);
    else if (word === 'u') {
      write(String.fromCharCode(Number(argument) & 0xffff));
      repeated = group.unicodeSkip;
    } else write(CHARACTERS[word] ?? '');
  }

  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(rtf); match !== null; match = TOKEN.exec(rtf)) {
    const [, word, argument, hex, symbol, brace, plain] = match;
    if (brace === '{') {
      groups.push({ ...(groups.at(-1) ?? OUTERMOST) });
      isStart = true;
      continue;
    }
    if (brace === '}') {
      groups.pop();
      repeated = 0;
    } else if (word === 'bin') {
      TOKEN.lastIndex += Math.max(0, Number(argument ?? 0));
    } else if (word !== undefined) onWord(word, argument);
    else if (hex !== undefined) {
      if (repeated > 0) repeated -= 1;
      else write(decode(Number.parseInt(hex, 16)));
    } else if (symbol !== undefined) {
      const group = groups.at(-1);
      if (symbol === '*' && group !== undefined) group.skipped = true;
      else if (symbol === '~') write(' ');
      else if (symbol === '_') write('-');
      else if (symbol === '\n' || symbol === '\r') write('\n');
      else if ('\\{}'.includes(symbol)) write(symbol);
    } else if (plain !== undefined) {
      write(plain.slice(repeated));
      repeated = Math.max(0, repeated - plain.length);
    }
    isStart = false;
  }
  const linesOf = (lines: string) => lines.split('\n').filter((line) => line.trim() !== '');
  const families = [...used].flatMap((number) => fonts.get(number)?.split(';')[0]?.trim() ?? []);
  return {
    text: { sure: linesOf(text.sure), loose: linesOf(text.loose) },
    families: [...new Set(families)].sort(),
  };
}
