import type { Edit, Tag } from '../xml.ts';

const WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"';

/** Marks around what a tracked change inserts. */
const INSERTIONS = new Set(['w:ins', 'w:moveTo']);
/** Words that LibreOffice reads as commands (LibreOffice Math Guide, appendix A), but for functions that it shows as they are written. */
const COMMANDS = new Set(
  (
    'abs acute aleph alignb alignc alignl alignm alignr alignt and approx aqua backepsilon bar binom black blue bold boper breve ' +
    'bslash cdot check circ circle color coprod csub csup cyan dddot ddot def div divides dlarrow dlrarrow dot dotsaxis dotsdiag ' +
    'dotsdown dotslow dotsup dotsvert downarrow drarrow emptyset equiv evaluate exists fact fixed font forall fourier frac from func ' +
    'ge geslant gg grave green gt hadd harpoon hat hbar hex iiint iint im in infinity infty int intd intersection it ital italic ' +
    'lambdabar langle laplace lbrace lceil ldbracket ldline le left leftarrow leslant lfloor lime line lint ll lline ' +
    'llint lllint lsub lsup lt magenta maroon matrix minusplus mline nabla nbold ndivides neg neq newline ni nitalic none notexists ' +
    'notin nprec nroot nsubset nsubseteq nsucc nsupset nsupseteq odivide odot olive ominus op oper oplus or ortho otimes over ' +
    'overbrace overline overstrike owns parallel partial phantom plusminus prec preccurlyeq precsim prod prop purple rangle rbrace ' +
    'rceil rdbracket rdline re red rfloor rgb rgba right rightarrow rline rsub rsup sans serif setc setminus setn setq setquotient ' +
    'setr setz silver sim simeq size slash sqrt stack sub subset subseteq succ succcurlyeq succsim sum sup supset supseteq teal tilde ' +
    'times to toward transl transr underbrace underline union uoper uparrow vec white widebslash wideharpoon wideslash widehat ' +
    'widetilde widevec wp yellow'
  ).split(' '),
);
/** Characters of commands, as XML writes them. */
const CHARACTERS = /[#\\^_"`~|]|&amp;|&quot;|%(?=[a-z])/i;
/** Content before which a table has begun already. */
const CONTENT = new Set([
  'w:t',
  'w:drawing',
  'w:pict',
  'w:object',
  'w:tab',
  'w:br',
  'w:sym',
  'w:bookmarkStart',
]);
/** A bookmark, which is not shown. */
const NOTHING = `<w:bookmarkStart ${WORD} w:id="9500000" w:name="_formula"/><w:bookmarkEnd ${WORD} w:id="9500000"/>`;

const count = (text: string, character: string): number => text.split(character).length;
const isCommand = (text: string): boolean =>
  CHARACTERS.test(text) ||
  count(text, '[') !== count(text, ']') ||
  (text.match(/[a-z]+/gi) ?? []).some((word) => COMMANDS.has(word.toLowerCase()));

/** Marks a run as normal text. @param after position after the start tag of the run */
function markNormal(properties: Tag | null, after: number): Edit {
  const normal = `<m:nor ${MATH}/>`;
  if (properties === null) return { start: after, end: after, text: `<m:rPr ${MATH}>${normal}</m:rPr>` };
  const { start, end, selfClosing } = properties;
  if (!selfClosing) return { start: end, end, text: normal };
  return { start, end, text: `<m:rPr ${MATH}>${normal}</m:rPr>` };
}

/** Operators that stand between two terms, so that LibreOffice shows a placeholder where one of them is missing. */
const LEADING = /^\s*[=*/]+/;
const TRAILING = /[=+*/-]\s*$/;

interface Run {
  start: number;
  /** Ends of its start tag and of the element. */
  opened: number;
  end: number;
  properties: Tag | null;
  isNormal: boolean;
  isCommand: boolean;
  /** Whether nothing precedes it in its element. */
  isFirst: boolean;
  /** Its text as XML writes it, and the start of this text. */
  text: string;
  at: number;
}

/** An element of a formula that is open. */
interface Element {
  isEmpty: boolean;
  /** The run that is its last child. */
  last: Run | null;
}

/** Returns the edits that make an operator normal text, in a run of its own unless it is all of its run, which is marked then. */
function markOperator(run: Run, pattern: RegExp): Edit[] {
  const operator = pattern.exec(run.text)?.[0];
  if (operator === undefined || run.isNormal || run.isCommand) return [];
  if (operator === run.text) {
    run.isNormal = true;
    return [markNormal(run.properties, run.opened)];
  }
  const isLeading = run.text.startsWith(operator);
  const [outside, inside] = isLeading
    ? [run.start, run.at]
    : [run.end, run.at + run.text.length - operator.length];
  const text = `<m:r ${MATH}><m:rPr><m:nor/></m:rPr><m:t>${operator}</m:t></m:r>`;
  return [
    { start: outside, end: outside, text },
    { start: inside, end: inside + operator.length, text: '' },
  ];
}

/**
 * Collects the edits that keep the text of formulas (OMML), which LibreOffice translates into commands of its own language: it reads
 * words such as `over` and characters such as `#` in them as commands, needs terms around operators, and leaves out tracked
 * insertions. Text that is marked as normal text is not read so. It also leaves out a formula at the start of a table.
 *
 * @param xml the part that contains them
 */
export function createFormulaEdits(xml: string) {
  const edits: Edit[] = [];
  /** The elements that are open, from the formula inwards. */
  const path: Element[] = [];
  /** Number of open arrays of equations, in which `&` is no character but a place at which the equations are aligned. */
  let arrays = 0;
  let run: Run | null = null;
  let text: Tag | null = null;
  /** Whether a table has begun, and nothing but the start of its first cell was read since. */
  let isTableStart = false;

  return {
    edits,
    open(tag: Tag): void {
      const { name, start, end } = tag;
      if (name === 'w:tbl') isTableStart = true;
      else if (CONTENT.has(name)) isTableStart = false;
      else if (name.startsWith('m:oMath') && isTableStart) {
        edits.push({ start, end: start, text: NOTHING });
        isTableStart = false;
      }
      const parent = path.at(-1);
      if (parent === undefined && name !== 'm:oMath') return;
      if (INSERTIONS.has(name)) edits.push({ start, end, text: '' });
      if (name === 'm:eqArr') arrays += 1;
      if (name === 'm:rPr' && run !== null) run.properties = tag;
      if ((name === 'm:nor' || name === 'm:lit') && run !== null) run.isNormal = true;
      if (name === 'm:t') text = tag;
      if (name === 'm:r') {
        const isFirst = parent?.isEmpty ?? false;
        const facts = { properties: null, isNormal: false, isCommand: false, isFirst, text: '', at: 0 };
        run = { start, opened: end, end, ...facts };
      }
      // Properties are no content.
      if (parent !== undefined && !name.endsWith('Pr')) Object.assign(parent, { isEmpty: false, last: null });
      path.push({ isEmpty: true, last: null });
    },
    close(name: string, start: number, end: number): void {
      const element = path.pop();
      if (element === undefined) return;
      if (INSERTIONS.has(name)) edits.push({ start, end, text: '' });
      if (name === 'm:eqArr') arrays -= 1;
      if (element.last !== null) edits.push(...markOperator(element.last, TRAILING));
      if (name === 'm:t' && text !== null && run !== null) {
        run.at = text.end;
        run.text = xml.slice(text.end, Math.max(text.end, start));
        text = null;
        if (arrays > 0)
          for (const { index } of run.text.matchAll(/&amp;/g))
            edits.push({ start: run.at + index, end: run.at + index + 5, text: '' });
        run.isCommand ||= isCommand(arrays > 0 ? run.text.replaceAll('&amp;', '') : run.text);
      }
      if (name !== 'm:r' || run === null) return;
      run.end = end;
      if (run.isCommand && !run.isNormal) edits.push(markNormal(run.properties, run.opened));
      if (run.isFirst) edits.push(...markOperator(run, LEADING));
      const parent = path.at(-1);
      if (parent !== undefined) parent.last = run;
      run = null;
    },
  };
}
