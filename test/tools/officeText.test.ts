import test from 'ava';
import prepareDocument from '../../activities/jobs/prepare-document.ts';
import { compareText } from '../../activities/office/compareText.ts';
import { readMhtml } from '../../activities/office/mhtml.ts';
import { openZip } from '../../activities/office/zip.ts';
import { makeDocx, makeOdt, zipOf } from '../helpers/office.ts';

const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const MAIN = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';
const run = (text: string, properties = '') =>
  `<w:r>${properties}<w:t xml:space="preserve">${text}</w:t></w:r>`;
const paragraph = (...runs: string[]) => `<w:p>${runs.join('')}</w:p>`;
const character = (kind: string) => `<w:r><w:fldChar w:fldCharType="${kind}"/></w:r>`;
const instruction = (text: string) => `<w:r><w:instrText xml:space="preserve"> ${text} </w:instrText></w:r>`;
const field = (inner: string, result: string) =>
  character('begin') + inner + character('separate') + result + character('end');

const prepareBody = (body: string) => prepareDocument({ bytes: makeDocx({ body }) });
const sureOf = async (body: string) => (await prepareBody(body)).text?.sure;

/** Returns the main part that LibreOffice gets; null when the document is not changed. */
async function changedBody(body: string): Promise<string | null> {
  const { bytes } = await prepareBody(body);
  if (bytes === null) return null;
  const zip = openZip(Buffer.from(bytes), { entries: 100, bytes: 1e6, depth: 1 });
  const xml = (await zip.readPart('word/document.xml'))?.toString() ?? '';
  return /<w:body>(.*)<\/w:body>/s.exec(xml)?.[1] ?? '';
}

const fixedRow = (height: number, content: string) =>
  `<w:tbl><w:tr><w:trPr><w:trHeight w:val="${height}" w:hRule="exact"/></w:trPr><w:tc>${paragraph(content)}</w:tc></w:tr></w:tbl>`;
const BOX_TEXT = `<w:txbxContent>${paragraph(run('long text'))}${paragraph(run('more'))}</w:txbxContent>`;
/** @param height in points @param fit how the box adapts to its text */
const textBox = (height: number, fit: string) =>
  paragraph(
    `<w:r><w:drawing><wps:wsp xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><wps:spPr><a:xfrm><a:ext cx="1270000" cy="${12_700 * height}"/></a:xfrm></wps:spPr><wps:txbx>${BOX_TEXT}</wps:txbx><wps:bodyPr>${fit}</wps:bodyPr></wps:wsp></w:drawing></w:r>`,
  );
const vmlBox = (height: string, style: string) =>
  paragraph(
    `<w:r><w:pict><v:shape style="position:absolute;width:100pt;height:${height}"><v:textbox style="${style}">${BOX_TEXT}</v:textbox></v:shape></w:pict></w:r>`,
  );

const MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"';
const SHOWN: [what: string, body: string, shown: string[]][] = [
  ['runs of a paragraph', paragraph(run('One '), run('two')), ['One two']],
  [
    'a nested field',
    paragraph(
      field(
        instruction('IF') + field(instruction('MERGEFIELD a'), run('M')) + instruction('= "M"'),
        run('Mr'),
      ),
    ),
    ['Mr'],
  ],
  [
    'letters before and after the mark of a note',
    paragraph(run('one'), '<w:r><w:endnoteReference w:id="1"/></w:r>', run('two')),
    ['one two'],
  ],
  ['a simple field', paragraph(`<w:fldSimple w:instr=" MERGEFIELD a ">${run('Ann')}</w:fldSimple>`), ['Ann']],
  ['no value that is only kept', paragraph(run('Sum'), field(instruction('SET a "b"'), run('b'))), ['Sum']],
  ['a page number, which changes', paragraph(run('Page '), field(instruction('PAGE'), run('7'))), ['Page ']],
  ['hidden text', paragraph(run('seen'), run('hidden', '<w:rPr><w:vanish/></w:rPr>')), ['seen']],
  [
    'text that is not hidden after all',
    paragraph(run('seen', '<w:rPr><w:vanish w:val="0"/></w:rPr>')),
    ['seen'],
  ],
  [
    'deleted and moved text',
    paragraph(
      run('new'),
      `<w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:moveFrom>${run('old')}</w:moveFrom>`,
    ),
    ['new'],
  ],
  [
    'letters of a symbol font',
    paragraph(run('seen'), run('abc', '<w:rPr><w:rFonts w:ascii="Wingdings"/></w:rPr>')),
    ['seen'],
  ],
  [
    'the alternative that Word knows',
    `<mc:AlternateContent ${MC}><mc:Choice Requires="w14">${paragraph(run('first'))}</mc:Choice><mc:Fallback>${paragraph(run('last'))}</mc:Fallback></mc:AlternateContent>`,
    ['first'],
  ],
  [
    'the alternative for programs that know no other',
    `<mc:AlternateContent ${MC}><mc:Choice Requires="zz">${paragraph(run('first'))}</mc:Choice><mc:Fallback>${paragraph(run('last'))}</mc:Fallback></mc:AlternateContent>`,
    ['last'],
  ],
  [
    'data instead of the text of a control',
    paragraph(
      run('seen'),
      `<w:sdt><w:sdtPr><w:dataBinding/></w:sdtPr><w:sdtContent>${run('replaced')}</w:sdtContent></w:sdt>`,
    ),
    ['seen'],
  ],
  ['the first letters in a row of fixed height', fixedRow(400, run('long text')), ['long']],
  ['nothing in a row that is lower than a line', fixedRow(200, run('cut')), []],
  [
    'the first letters in a row that is low for large letters',
    fixedRow(400, run('cut', '<w:rPr><w:sz w:val="36"/></w:rPr>')),
    [],
  ],
  [
    'nothing of a cell that continues the one above',
    `<w:tbl><w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr>${paragraph(run('old'))}</w:tc></w:tr></w:tbl>`,
    [],
  ],
  ['a text box that grows with its text', textBox(20, '<a:spAutoFit/>'), ['long text', 'more']],
  ['the first letters in a text box of fixed height', textBox(40, ''), ['long']],
  ['nothing in a text box that is lower than a line', textBox(20, ''), []],
  ['no letters that are drawings', textBox(40, '<a:prstTxWarp prst="textArchUp"/><a:spAutoFit/>'), []],
  ['a VML text box that grows', vmlBox('20pt', 'mso-fit-shape-to-text:t'), ['long text', 'more']],
  ['the first letters in a VML text box', vmlBox('1in', ''), ['long']],
  [
    'the parts of a formula',
    `<w:p><m:oMath><m:sSup><m:e><m:r><m:t>speed</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup><m:phant><m:e><m:r><m:t>no</m:t></m:r></m:e></m:phant></m:oMath></w:p>`,
    ['speed 2'],
  ],
];
for (const [what, body, shown] of SHOWN)
  test(`the text that a document shows: ${what}`, async (t) => {
    const sure = await sureOf(body);
    t.deepEqual(
      sure?.map((it) => it.replaceAll(/ +/g, ' ').trim()),
      shown.map((it) => it.trim()),
    );
  });

test('the text that a document shows: headers and footers of the first pages of sections', async (t) => {
  const names = ['title', 'other', 'second', 'last'];
  const parts = names.map((name) => ({
    name: `word/${name}.xml`,
    relation: 'header',
    contentType: 'application/vnd.openxmlformats-officedocument.wordprocessingml.header+xml',
    data: `<w:hdr xmlns:w="${WORD}">${paragraph(run(name))}</w:hdr>`,
  }));
  const reference = (type: string, id: number) => `<w:headerReference w:type="${type}" r:id="p${id}"/>`;
  const section = (content: string) => `<w:sectPr>${content}</w:sectPr>`;
  const ended = (content: string) => `<w:p><w:pPr>${section(content)}</w:pPr></w:p>`;
  const shown = async (body: string) => {
    const { text } = await prepareDocument({
      bytes: makeDocx({ body: paragraph(run('Body')) + body, parts }),
    });
    return text?.sure.slice(1);
  };
  const titled = `${reference('first', 0)}${reference('default', 1)}<w:titlePg/>`;
  t.deepEqual(await shown(section(titled)), ['title']);
  t.deepEqual(await shown(section(titled.replace('<w:titlePg/>', ''))), ['other']);
  t.deepEqual(await shown(ended(titled) + section(reference('default', 2))), ['title', 'second']);
  t.deepEqual(
    await shown(ended(titled) + section('')),
    ['title', 'other'],
    'it has the header of the first one',
  );
  const continuous = '<w:type w:val="continuous"/>';
  t.deepEqual(await shown(ended(titled) + section(reference('default', 3) + continuous)), ['title']);
  const before = `<w:sectPrChange>${section(continuous)}</w:sectPrChange>`;
  t.deepEqual(await shown(ended(titled) + section(reference('default', 3) + before)), ['title', 'last']);
});

test('the text that a document shows: notes whose marks are shown', async (t) => {
  const mark = (id: number, properties = '') =>
    `<w:r><w:rPr>${properties}</w:rPr><w:footnoteReference w:id="${id}"/></w:r>`;
  const notes = ['shown', 'hidden', 'deleted'].map(
    (text, id) => `<w:footnote w:id="${id}">${paragraph(run(text))}</w:footnote>`,
  );
  const part = {
    name: 'word/footnotes.xml',
    relation: 'footnotes',
    contentType: 'application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml',
    data: `<w:footnotes xmlns:w="${WORD}">${notes.join('')}</w:footnotes>`,
  };
  const body = paragraph(run('text'), mark(0), mark(1, '<w:vanish/>'), `<w:del>${mark(2)}</w:del>`);
  const { text } = await prepareDocument({ bytes: makeDocx({ body, parts: [part] }) });
  t.deepEqual(text?.sure, ['text ', 'shown']);
});

test('other prefixes of namespaces are understood', async (t) => {
  const word = 'http://purl.oclc.org/ooxml/wordprocessingml/main';
  const xml = `<document xmlns="${word}"><body><p><r><t>Strict</t></r></p></body></document>`;
  const types = `<Types><Override PartName="/word/document.xml" ContentType="${MAIN}"/></Types>`;
  const bytes = zipOf([
    { name: '[Content_Types].xml', data: types },
    { name: 'word/document.xml', data: xml },
  ]);
  t.deepEqual((await prepareDocument({ bytes })).text?.sure, ['Strict']);
});

test('fields become the results that Word stored, and nothing else changes', async (t) => {
  t.is(
    await changedBody(paragraph(run('Dear '), field(instruction('MERGEFIELD a'), run('Ann')), run('!'))),
    '<w:p><w:r><w:t xml:space="preserve">Dear </w:t></w:r><w:r></w:r><w:r><w:t xml:space="preserve">Ann</w:t></w:r><w:r></w:r><w:r><w:t xml:space="preserve">!</w:t></w:r></w:p>',
  );
  t.is(await changedBody(paragraph(field(instruction('PAGE'), run('7')))), null);
  // Word shows no result of these.
  t.is(await changedBody(paragraph(field(instruction('SET a "b"'), run('b')))), null);
  t.is(await changedBody(paragraph(field(instruction('ASK a "b"'), run('c')))), null);
  t.is(await changedBody(paragraph(character('begin'), instruction('DATE'), character('end'))), null);
});

test('an instruction of several paragraphs is removed with its paragraphs', async (t) => {
  const first = paragraph(run('A '), character('begin'), instruction('IF 1 = 1 "x'));
  const last = paragraph(instruction('y"'), character('separate'), run('B'), character('end'));
  t.is(
    await changedBody(first + paragraph(instruction('middle')) + last),
    '<w:p><w:r><w:t xml:space="preserve">A </w:t></w:r><w:r></w:r><w:r><w:t xml:space="preserve">B</w:t></w:r><w:r></w:r></w:p>',
  );
});

test('bullets of symbol fonts become characters', async (t) => {
  const level = (font: string, text: string) =>
    `<w:lvl><w:lvlText w:val="${text}"/><w:rPr><w:rFonts w:ascii="${font}" w:hAnsi="${font}"/></w:rPr></w:lvl>`;
  const data = `<w:numbering xmlns:w="${WORD}">${level('Symbol', '&#xF0B7;')}${level('Courier New', 'o')}</w:numbering>`;
  const part = { name: 'word/numbering.xml', data, relation: 'numbering', contentType: 'application/xml' };
  const { bytes } = await prepareDocument({ bytes: makeDocx({ parts: [part] }) });
  const zip = openZip(Buffer.from(bytes ?? ''), { entries: 100, bytes: 1e6, depth: 1 });
  t.is(
    (await zip.readPart('word/numbering.xml'))?.toString(),
    `<w:numbering xmlns:w="${WORD}"><w:lvl><w:lvlText w:val="•"/><w:rPr></w:rPr></w:lvl>${level('Courier New', 'o')}</w:numbering>`,
  );
});

const mathRun = (text: string, properties = '') => `<m:r>${properties}<m:t>${text}</m:t></m:r>`;
const formula = (content: string) => `<w:p><m:oMath>${content}</m:oMath></w:p>`;
const NORMAL = '<m:nor xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"/>';
const MARKED = `<m:rPr xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">${NORMAL}</m:rPr>`;
const FORMULAS: [what: string, content: string, changed: string | null][] = [
  ['letters and functions', mathRun('x=sin 5'), null],
  ['a command', mathRun('a over b'), mathRun('a over b', MARKED)],
  ['a command in capitals', mathRun('SUM'), mathRun('SUM', MARKED)],
  [
    'a command in a run with properties',
    mathRun('to', '<m:rPr><m:sty m:val="b"/></m:rPr>'),
    mathRun('to', `<m:rPr>${NORMAL}<m:sty m:val="b"/></m:rPr>`),
  ],
  ['a command in a run without any', mathRun('to', '<m:rPr/>'), mathRun('to', MARKED)],
  ['normal text', mathRun('over', '<m:rPr><m:nor/></m:rPr>'), null],
  ['a character of commands', mathRun('A\\B'), mathRun('A\\B', MARKED)],
  [
    'the place at which equations are aligned',
    `<m:eqArr><m:e>${mathRun('x&amp;=1')}</m:e></m:eqArr>`,
    `<m:eqArr><m:e>${mathRun('x=1')}</m:e></m:eqArr>`,
  ],
  ['a tracked insertion', `<w:ins w:id="1">${mathRun('1')}</w:ins>`, mathRun('1')],
];
for (const [what, content, changed] of FORMULAS)
  test(`LibreOffice gets formulas whose text it shows: ${what}`, async (t) => {
    t.is(await changedBody(formula(content)), changed === null ? null : formula(changed));
  });

test('text that only a view as web page hides is not hidden', async (t) => {
  const hidden = run('7', '<w:rPr><w:noProof/><w:webHidden/></w:rPr>');
  t.is(await changedBody(paragraph(hidden)), paragraph(run('7', '<w:rPr><w:noProof/></w:rPr>')));
});

test('marks of comments are removed, and objects that have a picture', async (t) => {
  const mark = '<w:commentRangeStart w:id="0"/>';
  const end = '<w:commentRangeEnd w:id="0"/><w:r><w:commentReference w:id="0"/></w:r>';
  t.is(await changedBody(`<w:p>${mark}${run('a')}${end}</w:p>`), `<w:p>${run('a')}<w:r></w:r></w:p>`);
  const object =
    '<w:p><w:r><w:object><v:shape><v:imagedata r:id="none"/></v:shape><o:OLEObject r:id="x"/></w:object></w:r></w:p>';
  t.is(await changedBody(object), null, 'its picture is missing');
});

test('texts of RTF and OpenDocument are read', async (t) => {
  const rtf =
    "{\\rtf1\\ansi{\\fonttbl{\\f0 Calibri;}}{\\*\\generator x}\\f0 caf\\'e9 \\u8364?5{\\v hidden}\\par{\\field{\\*\\fldinst PAGE}{\\fldrslt 7}}{\\pict 00ff}end\\par}";
  const read = await prepareDocument({ bytes: Buffer.from(rtf) });
  t.deepEqual(read.text?.sure, ['café €5', 'end']);
  t.deepEqual(read.families, ['Calibri']);
  const odt = makeOdt(
    '<text:p>one<text:s/>two<office:annotation><text:p>note</text:p></office:annotation></text:p>',
  );
  t.deepEqual((await prepareDocument({ bytes: odt })).text?.sure, ['one two']);
});

test('text that a row or a text box of fixed height can cut off is not certain to be shown', async (t) => {
  const textOf = async (bytes: Buffer) => (await prepareDocument({ bytes })).text;
  const row = (height: number, text: string) =>
    `\\trowd\\trrh${height}\\cellx4000\\pard\\intbl ${text}\\cell\\row`;
  const rtf = `{\\rtf1 ${row(-400, 'cut')}${row(400, 'kept')}\\pard after\\par}`;
  t.deepEqual(await textOf(Buffer.from(rtf)), { sure: ['kept', 'after'], loose: ['cut'] });
  const style = (name: string, height: string) =>
    `<style:style style:name="${name}" style:family="table-row"><style:table-row-properties style:${height}="1cm"/></style:style>`;
  const styles = `<office:automatic-styles>${style('a', 'row-height')}${style('b', 'min-row-height')}</office:automatic-styles>`;
  const cell = (name: string, text: string) =>
    `<table:table-row table:style-name="${name}"><table:table-cell><text:p>${text}</text:p></table:table-cell></table:table-row>`;
  const box = (attribute: string, text: string) =>
    `<draw:frame><draw:text-box ${attribute}><text:p>${text}</text:p></draw:text-box></draw:frame>`;
  const boxes = box('fo:min-height="1cm"', 'grows') + box('', 'fixed');
  const body = `<table:table>${cell('a', 'cut')}${cell('b', 'kept')}</table:table>${boxes}`;
  t.deepEqual(await textOf(makeOdt(body, styles)), { sure: ['kept', 'grows'], loose: ['cut', 'fixed'] });
});

test('an OpenDocument text whose archive lacks the type gets it', async (t) => {
  const type = 'application/vnd.oasis.opendocument.text';
  const manifest = `<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry m:full-path="/" m:media-type="${type}"/></m:manifest>`;
  const bytes = zipOf([
    { name: 'META-INF/manifest.xml', data: manifest },
    { name: 'content.xml', data: '<a/>' },
  ]);
  const made = (await prepareDocument({ bytes })).bytes;
  const zip = openZip(Buffer.from(made ?? ''), { entries: 10, bytes: 1e6, depth: 1 });
  t.deepEqual(zip.names, ['mimetype', 'META-INF/manifest.xml', 'content.xml']);
  t.is((await zip.readPart('mimetype'))?.toString(), type);
});

const source = (...sure: string[]) => ({ sure, loose: [] });
const COMPARED: [what: string, source: string[], pdf: string[], missing: number][] = [
  ['the same words', ['One two', 'three'], ['three One\ntwo'], 0],
  ['a missing word', ['One two'], ['One'], 1],
  ['a word that the source has twice', ['two', 'two'], ['two'], 1],
  ['a word divided by a hyphen', ['hyphenation'], ['hyphen-\nation'], 0],
  ['a word divided by the end of a page', ['hyphenation'], ['hyphen-', 'Page 2 ation'], 0],
  ['words divided by the end of a page in cells', ['taller', 'taller'], ['talle talle', 'later r r'], 0],
  ['a word of which the parts are words of the source', ['books', 'book', 's'], ['s book'], 1],
  ['ligatures and capitals', ['office Straße'], ['oﬃce STRASSE'], 0],
  ['capitals of languages', ['istanbul ığdır groß άλφα'], ['İSTANBUL IĞDIR GROẞ ΑΛΦΑ'], 0],
  ['text without spaces', ['日本語の文章です'], ['日本語の\n文章です'], 0],
  ['missing text without spaces', ['日本語の文章です'], ['日本語の'], 1],
  ['symbols', ['→ ☃ word'], ['word'], 0],
];
for (const [what, words, pdf, missing] of COMPARED)
  test(`comparison of texts: ${what}`, (t) => {
    t.is(compareText(source(...words), { pages: pdf, fonts: pdf }).missing, missing);
  });

test('a word whose letters no font has all of is looked for by its letters', (t) => {
  const words = source('Қурилиш', 'урилиш');
  const missingOf = (...fonts: string[]) => compareText(words, { pages: fonts, fonts }).missing;
  t.is(missingOf('урилиш урилиш', 'Қ'), 0);
  t.is(missingOf('урилиш', 'Ҳ'), 1);
  t.is(missingOf('Қурилш', 'и'), 2);
});

test('words that need not be shown are counted apart', (t) => {
  const pdf = { pages: ['one three'], fonts: [] };
  const compared = compareText({ sure: ['one', 'עברית', '𞤆𞤵𞤤𞤢𞤪'], loose: ['two three'] }, pdf);
  t.deepEqual(compared, { words: 3, missing: 0, paragraphs: 0, uncertain: 3 });
});

test('MHTML: a space before a soft line break belongs to the text (RFC 2045, 6.7)', (t) => {
  const page = [
    'MIME-Version: 1.0',
    'Content-Type: text/html; charset=utf-8',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    '<p>The last ferry leaves =',
    'at nine, and the har=  ',
    'bour is quiet=2E</p>',
  ].join('\r\n');
  t.is(readMhtml(Buffer.from(page)), '<p>The last ferry leaves at nine, and the harbour is quiet.</p>');
});
