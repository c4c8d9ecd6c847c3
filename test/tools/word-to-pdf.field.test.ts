import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { PNG } from 'pngjs';
import { type Office, office } from '../../activities/office/office.ts';
import { readEnv } from '../../schemas/env.ts';
import { codeOf } from '../helpers/egress.ts';
import { startFiles } from '../helpers/images.ts';
import { drawPdf, makeDocx, readPdf, zipOf } from '../helpers/office.ts';
import { loadTool } from '../helpers/tool.ts';

const exec = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), 'word-field-'));
const tool = await loadTool('word-to-pdf');
const files = await startFiles();
const resource = await office.open({ env: readEnv(), log: () => undefined });
test.after.always(async () => {
  await resource[Symbol.asyncDispose]();
  files.close();
  await rm(folder, { recursive: true, force: true });
});

async function convert(bytes: Buffer, name: string, use: Office = resource) {
  const output = await tool.call(
    { fileUrl: files.put({ bytes }, name) },
    { egress: files.guard, resource: use },
  );
  const path = join(folder, `${name}.pdf`);
  await writeFile(path, Buffer.from(String(output.fileBase64), 'base64'));
  const { pages, text } = await readPdf(path);
  return { output, path, pages, text, letters: text.replace(/\s+/g, '') };
}

const OPENXML = 'application/vnd.openxmlformats-officedocument.wordprocessingml';
const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const NAMES = `xmlns:w="${WORD}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`;
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`;
const paragraph = (text: string) => `<w:p>${run(text)}</w:p>`;
const character = (kind: string) => `<w:r><w:fldChar w:fldCharType="${kind}"/></w:r>`;
const instruction = (text: string) => `<w:r><w:instrText xml:space="preserve"> ${text} </w:instrText></w:r>`;
const field = (inner: string, result: string) =>
  character('begin') + inner + character('separate') + result + character('end');

const CHUNK = `${paragraph('Before')}<w:altChunk r:id="p0"/>${paragraph('After')}`;
const chunk = (name: string, data: string | Buffer, contentType = 'text/html') =>
  makeDocx({ body: CHUNK, parts: [{ name, data, relation: 'aFChunk', contentType }] });
const mhtml = [
  'MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary="=b"\r\n\r\n',
  '--=b\r\nContent-Type: text/html; charset="utf-8"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n',
  '<html><body><h1>Heading</h1><p>Caf=C3=A9 of the ch=\r\nunk</p></body></html>\r\n--=b--\r\n',
].join('');

const ROWS = Array.from({ length: 70 }, (_, at) => `<w:tr><w:tc>${paragraph(`ROW${at}`)}</w:tc></w:tr>`);
const FLOATING = `<w:tbl><w:tblPr><w:tblpPr w:horzAnchor="margin" w:vertAnchor="text" w:tblpY="1"/><w:tblW w:w="3000" w:type="dxa"/></w:tblPr><w:tblGrid><w:gridCol w:w="3000"/></w:tblGrid>${ROWS.join('')}</w:tbl>`;
const comment =
  '<w:commentRangeStart w:id="0"/><w:commentRangeEnd w:id="0"/><w:r><w:commentReference w:id="0"/></w:r>';
const MATH_TEXT =
  '<w:p><m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>2468</m:t></m:r></m:den></m:f></m:oMath></w:p>';

const mathRun = (text: string) => `<m:r><m:t>${text}</m:t></m:r>`;
/** A table of one row. @param width of a column in twentieths of a point @param last content of its last cell besides text */
function table(width: number, columns: number, last: string): string {
  const cell = (at: number) =>
    `<w:tc><w:tcPr><w:tcW w:w="${width}" w:type="dxa"/></w:tcPr>${at === columns - 1 ? last : ''}${paragraph(`CELL${at}`)}</w:tc>`;
  const cells = Array.from({ length: columns }, (_, at) => cell(at));
  return `<w:tbl><w:tblGrid>${`<w:gridCol w:w="${width}"/>`.repeat(columns)}</w:tblGrid><w:tr>${cells.join('')}</w:tr></w:tbl>`;
}
const SHOWN: [what: string, name: string, bytes: Buffer, shown: string[]][] = [
  [
    'an embedded page',
    'html.docx',
    chunk('word/a.html', '<h1>Heading</h1><p>Text of the <b>ch</b>unk &amp; more</p>'),
    ['Before', 'Heading', 'Text of the chunk & more', 'After'],
  ],
  [
    'an embedded MHTML file',
    'mht.docx',
    chunk('word/a.mht', mhtml),
    ['Before', 'Heading', 'Café of the chunk', 'After'],
  ],
  [
    'embedded RTF',
    'rtf.docx',
    chunk('word/a.rtf', '{\\rtf1 Text of the chunk\\par}'),
    ['Before', 'Text of the chunk', 'After'],
  ],
  [
    'an embedded page in another encoding',
    'latin.docx',
    chunk(
      'word/a.htm',
      Buffer.from(
        '<meta http-equiv=Content-Type content="text/html; charset=windows-1252"><p>Gr\xf6\xdfe',
        'latin1',
      ),
    ),
    ['Before', 'Größe', 'After'],
  ],
  [
    'a part of an embedded page',
    'part.docx',
    chunk('word/a.bin', '<b>Bold</b> text'),
    ['BeforeBold textAfter'],
  ],
  [
    'an embedded document in one XML file',
    'flat.docx',
    chunk(
      'word/a.xml',
      `<pkg:package xmlns:pkg="http://schemas.microsoft.com/office/2006/xmlPackage"><pkg:part pkg:name="/_rels/.rels" pkg:contentType="application/vnd.openxmlformats-package.relationships+xml"><pkg:xmlData><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="${RELATIONS}/officeDocument" Target="word/document.xml"/></Relationships></pkg:xmlData></pkg:part><pkg:part pkg:name="/word/document.xml" pkg:contentType="${OPENXML}.document.main+xml"><pkg:xmlData><w:document ${NAMES}><w:body>${paragraph('Flat text')}</w:body></w:document></pkg:xmlData></pkg:part></pkg:package>`,
      `${OPENXML}.document.main+xml`,
    ),
    ['BeforeFlat textAfter'],
  ],
  [
    'an embedded document with fields and with a page',
    'inner.docx',
    chunk(
      'word/a.docx',
      makeDocx({
        body: `<w:p>${field(instruction('IF 1 = 1 "a" "b"'), run('Result'))}</w:p>${CHUNK}`,
        parts: [{ name: 'word/b.html', data: '<p>Deep</p>', relation: 'aFChunk', contentType: 'text/html' }],
      }),
      `${OPENXML}.document.main+xml`,
    ),
    ['Result', 'Deep'],
  ],
  [
    'the result of a nested field',
    'if.docx',
    makeDocx({
      body: `<w:p>${field(instruction('IF') + field(instruction('MERGEFIELD a'), run('M')) + instruction('= "M" "Mr" "Ms"'), run('Dear Mr'))}${run(' Smith')}</w:p>`,
    }),
    ['Dear Mr Smith'],
  ],
  [
    'a table that floats over two pages',
    'floating.docx',
    makeDocx({ body: FLOATING + paragraph('After') }),
    ['ROW0', 'ROW69', 'After'],
  ],
  [
    'a formula at the start of a table, with words and operators that LibreOffice reads as commands',
    'formula-table.docx',
    makeDocx({
      body: `<w:tbl><w:tblGrid><w:gridCol w:w="3000"/></w:tblGrid><w:tr><w:tc><w:p><m:oMath>${mathRun('= 12 over 34')}${mathRun('+')}</m:oMath></w:p></w:tc></w:tr></w:tbl>${paragraph('After')}`,
    }),
    ['=12over34+', 'After'],
  ],
  [
    'tables that are wider than the paper or than their cell',
    'wide.docx',
    makeDocx({ body: table(3000, 6, table(3000, 2, paragraph('IN'))) + paragraph('After') }),
    ['CELL5', 'IN', 'After'],
  ],
  [
    'references by the results that Word stored, where LibreOffice has none',
    'missing.docx',
    makeDocx({
      body: `<w:p>${field(instruction('REF gone \\h'), run('One'))}${field(instruction('STYLEREF "Gone"'), run('Two'))}${field(instruction('PAGEREF gone \\h'), run('3'))}${field(instruction('REF here \\r \\h'), run('4'))}${run(' End')}<w:bookmarkStart w:id="1" w:name="here"/><w:bookmarkEnd w:id="1"/></w:p>`,
    }),
    ['OneTwo34 End'],
  ],
  ['a formula', 'formula.docx', makeDocx({ body: paragraph('Before') + MATH_TEXT }), ['Before', '2468']],
  [
    'a header with a comment',
    'header.docx',
    makeDocx({
      body: `${paragraph('Body')}<w:sectPr><w:headerReference w:type="default" r:id="p0"/></w:sectPr>`,
      parts: [
        {
          name: 'word/header1.xml',
          relation: 'header',
          contentType: `${OPENXML}.header+xml`,
          data: `<w:hdr ${NAMES}><w:p>${run('Header')}${comment}</w:p></w:hdr>`,
        },
        {
          name: 'word/comments.xml',
          relation: 'comments',
          contentType: `${OPENXML}.comments+xml`,
          data: `<w:comments ${NAMES}><w:comment w:id="0" w:author="A">${paragraph('Remark')}</w:comment></w:comments>`,
        },
      ],
    }),
    ['Header', 'Body'],
  ],
];
for (const [what, name, bytes, shown] of SHOWN)
  test.serial(`the PDF shows ${what}`, async (t) => {
    const { letters, output } = await convert(bytes, name);
    for (const text of shown) t.true(letters.includes(text.replaceAll(' ', '')), `${text}: ${letters}`);
    t.true(Number(Object(output.textCheck).words) > 0);
  });

test.serial('an OpenDocument text without the entry of its type is converted', async (t) => {
  const names = 'urn:oasis:names:tc:opendocument:xmlns';
  const type = 'application/vnd.oasis.opendocument.text';
  const entry = (path: string, media: string) =>
    `<m:file-entry m:full-path="${path}" m:media-type="${media}"/>`;
  const manifest = `<m:manifest xmlns:m="${names}:manifest:1.0" m:version="1.2">${entry('/', type)}${entry('content.xml', 'text/xml')}</m:manifest>`;
  const content = `<office:document-content xmlns:office="${names}:office:1.0" xmlns:text="${names}:text:1.0" office:version="1.2"><office:body><office:text><text:p>Unmarked</text:p></office:text></office:body></office:document-content>`;
  const odt = zipOf([
    { name: 'content.xml', data: content },
    { name: 'META-INF/manifest.xml', data: manifest },
  ]);
  t.is((await convert(odt, 'unmarked.odt')).letters, 'Unmarked');
});

test.serial('a link without a character style is a link', async (t) => {
  const body = `<w:p><w:hyperlink r:id="x0">${run('Link')}</w:hyperlink></w:p>`;
  const { path } = await convert(
    makeDocx({ body, external: [['hyperlink', 'https://example.com/a']] }),
    'link.docx',
  );
  const { stdout } = await exec('pdfinfo', ['-url', path]);
  t.regex(stdout, /https:\/\/example\.com\/a/);
});

test.serial('an embedded workbook is shown by its picture', async (t) => {
  const picture = PNG.sync.write(new PNG({ width: 20, height: 20, colorType: 2 }));
  const body = `<w:p><w:r><w:object><v:shape id="s" style="width:50pt;height:50pt"><v:imagedata r:id="p0"/></v:shape><o:OLEObject Type="Embed" ProgID="Excel.Sheet.12" ShapeID="s" ObjectID="_1" r:id="p1"/></w:object></w:r></w:p>`;
  const bytes = makeDocx({
    body,
    parts: [
      { name: 'word/a.png', data: picture, relation: 'image', contentType: 'image/png' },
      {
        name: 'word/a.xlsx',
        data: zipOf([{ name: 'x' }]),
        relation: 'package',
        contentType: 'application/x',
      },
    ],
  });
  const { path } = await convert(bytes, 'workbook.docx');
  t.regex((await exec('pdfimages', ['-list', path])).stdout, / image /);
});

const page = '<w:p><w:r><w:br w:type="page"/></w:r></w:p>';
const section = (content: string) => `<w:sectPr>${content}</w:sectPr>`;
const running = (kind: 'header' | 'footer', content: string) => ({
  name: `word/${kind}.xml`,
  relation: kind,
  contentType: `${OPENXML}.${kind}+xml`,
  data: `<w:${kind === 'header' ? 'hdr' : 'ftr'} ${NAMES}>${content}</w:${kind === 'header' ? 'hdr' : 'ftr'}>`,
});

const formula = (name: string, rest: string) =>
  field(instruction('=') + field(instruction(name), run('98')) + instruction(rest), run('99'));
/** Fields with numbers of pages, each with a result that is out of date, and what two pages after a cover show. */
const NUMBERS: [content: string, first: string, second: string][] = [
  [field(instruction('NUMPAGES'), run('99')), '3', '3'],
  [field(instruction('NUMPAGES \\* MERGEFORMAT'), run('99')), '3', '3'],
  [field(instruction('NUMPAGES \\* Roman'), run('99')), 'III', 'III'],
  [field(instruction('NUMPAGES \\* alphabetic'), run('99')), 'c', 'c'],
  [field(instruction('NUMPAGES \\# "00"'), run('99')), '03', '03'],
  [field(instruction('DOCPROPERTY Pages'), run('99')), '3', '3'],
  [field(instruction('SECTIONPAGES'), run('99')), '2', '2'],
  [character('begin') + instruction('SECTIONPAGES') + character('end'), '2', '2'],
  ['<w:fldSimple w:instr="SECTIONPAGES"/>', '2', '2'],
  [`<w:fldSimple w:instr="SECTIONPAGES">${run('99')}</w:fldSimple>`, '2', '2'],
  [field(instruction('NUMPAGES \\* CardText'), run('99')), 'three', 'three'],
  [field(instruction('NUMPAGES \\* OrdText \\* FirstCap'), run('99')), 'Third', 'Third'],
  [field(instruction('NUMPAGES \\* Ordinal'), run('99')), '3rd', '3rd'],
  [field(instruction('PAGE \\* CardText'), run('99')), 'one', 'two'],
  [field(instruction('PAGE \\* Ordinal'), run('99')), '1st', '2nd'],
  [field(instruction('PAGE \\* ArabicDash'), run('99')), '- 1 -', '- 2 -'],
  [field(instruction('PAGE \\# "000"'), run('99')), '001', '002'],
  [field(instruction('SECTION'), run('99')), '2', '2'],
  [`<w:fldSimple w:instr="SECTION \\* Roman">${run('99')}</w:fldSimple>`, 'II', 'II'],
  [formula('NUMPAGES', '- 1'), '2', '2'],
  [formula('SECTIONPAGES', '+ 10'), '12', '12'],
  [formula('PAGE', '- 1'), '0', '1'],
  [formula('PAGE \\* MERGEFORMAT', '+ 0 \\* Roman'), 'I', 'II'],
];

test.serial('fields with numbers of pages show those of the PDF', async (t) => {
  const footer = NUMBERS.map(([content]) => `<w:p>${run('[')}${content}${run(']')}</w:p>`).join('');
  const cover = `<w:p><w:pPr>${section('')}</w:pPr>${run('Cover')}</w:p>`;
  const last = section('<w:footerReference w:type="default" r:id="p0"/><w:pgNumType w:start="1"/>');
  const bytes = makeDocx({
    body: cover + paragraph('One') + page + paragraph('Two') + last,
    parts: [running('footer', footer)],
  });
  const { text, pages } = await convert(bytes, 'numbers.docx');
  t.is(pages, 3);
  const shown = text.split('\f').map((it) => [...it.matchAll(/\[(.*?)\]/g)].map(([, number]) => number));
  t.deepEqual(shown.slice(0, 3), [
    [],
    NUMBERS.map(([, first]) => first),
    NUMBERS.map(([, , second]) => second),
  ]);
});

test.serial('the number of pages of a section is that of the section of its header', async (t) => {
  const number = `<w:p>${run('[')}${field(instruction('SECTIONPAGES'), run('99'))}${run(']')}</w:p>`;
  const reference = '<w:headerReference w:type="default" r:id="p0"/>';
  const bytes = makeDocx({
    // The second section has the header of the first one.
    body: `${paragraph('One')}${page}<w:p><w:pPr>${section(reference)}</w:pPr>${run('Two')}</w:p>${paragraph('Three')}${section('')}`,
    parts: [running('header', number)],
  });
  const { letters } = await convert(bytes, 'sections.docx');
  t.is(letters, '[2]One[2]Two[1]Three');
});

test.serial('the number of a section in a header counts sections that begin within a page', async (t) => {
  const number = `<w:p>${run('[')}<w:fldSimple w:instr="SECTION">${run('99')}</w:fldSimple>${run(']')}</w:p>`;
  const ended = (content: string) => `<w:p><w:pPr>${section(content)}</w:pPr></w:p>`;
  const continuous = '<w:type w:val="continuous"/>';
  const bytes = makeDocx({
    body: `${paragraph('One')}${ended('<w:headerReference w:type="default" r:id="p0"/>')}${paragraph('Two')}${ended('')}${paragraph('Three')}${ended(continuous)}${paragraph('Four')}${section('')}`,
    parts: [running('header', number)],
  });
  t.is((await convert(bytes, 'section-numbers.docx')).letters, '[1]One[2]TwoThree[4]Four');
});

test.serial(
  'a formula in the text with a number of pages is shown, and counts as no loss of text',
  async (t) => {
    const { letters, output } = await convert(
      makeDocx({
        body: `<w:p>${run('Pages without the cover: ')}${formula('NUMPAGES', '- 1')}</w:p>${page}${paragraph('End')}`,
      }),
      'formula-pages.docx',
    );
    t.is(letters, 'Pageswithoutthecover:1End');
    t.deepEqual(output.textCheck, { words: 5, uncertainWords: 0 });
  },
);

/** A picture of 40 by 40 points. @param effects of the picture @param title attribute of its properties */
function drawing(effects: string, title = ''): string {
  const size = 'cx="508000" cy="508000"';
  const names = 'http://schemas.openxmlformats.org/drawingml/2006';
  const fill = `<a:blip r:embed="p0">${effects}</a:blip><a:stretch><a:fillRect/></a:stretch>`;
  const shape = `<a:xfrm><a:off x="0" y="0"/><a:ext ${size}/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom>`;
  const picture = `<pic:pic xmlns:pic="${names}/picture"><pic:nvPicPr><pic:cNvPr id="1" name="P"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill>${fill}</pic:blipFill><pic:spPr>${shape}</pic:spPr></pic:pic>`;
  return `<w:p><w:r><w:drawing><wp:inline xmlns:wp="${names}/wordprocessingDrawing"><wp:extent ${size}/><wp:docPr id="1" name="P"${title}/><a:graphic xmlns:a="${names}/main"><a:graphicData uri="${names}/picture">${picture}</a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`;
}

test.serial('pictures have the opacity that the document gives them', async (t) => {
  const black = new PNG({ width: 20, height: 20 });
  for (let at = 3; at < black.data.length; at += 4) black.data[at] = 255;
  const faded = drawing('<a:alphaModFix amt="30000"/>', ' title="Logo"');
  const reference = '<w:headerReference w:type="default" r:id="p1"/>';
  const bytes = makeDocx({
    // The second section has the header of the first one, the third page also a picture without an effect.
    body: `${faded}<w:p><w:pPr>${section(reference)}</w:pPr></w:p>${page}${drawing('')}${section('')}`,
    parts: [
      { name: 'word/a.png', data: PNG.sync.write(black), relation: 'image', contentType: 'image/png' },
      running('header', faded),
    ],
    extra: [
      {
        name: 'word/_rels/header.xml.rels',
        data: `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="p0" Type="${RELATIONS}/image" Target="/word/a.png"/></Relationships>`,
      },
    ],
  });
  const { path } = await convert(bytes, 'faded.docx');
  const pages = await drawPdf(path);
  // The pixels are after the third line.
  const pixels = pages.map((it) => it.subarray(it.indexOf('\n255\n') + 5));
  const darkest = pixels.map((it) => it.reduce((least, level) => Math.min(least, level), 255));
  const expected = Math.round(255 * 0.7);
  t.is(darkest.length, 3);
  for (const level of darkest.slice(0, 2)) t.true(Math.abs(level - expected) <= 1, `${level}`);
  t.is(darkest[2], 0);
});

/** Obfuscates a font (ECMA-376-4, 17.8.1): its first 32 bytes are combined with the key. */
function obfuscate(font: Buffer, key: string): Buffer {
  const bytes = Buffer.from(key.replace(/[{}-]/g, ''), 'hex').reverse();
  return Buffer.from(font.map((byte, at) => (at < 32 ? byte ^ (bytes[at % 16] ?? 0) : byte)));
}

test.serial('a font that the document contains is used', async (t) => {
  const family = 'Corporate Own';
  const base = { regular: 'LiberationMono-Regular.ttf' };
  const made = { [family]: { base, scale: 1, ascent: null, descent: null, characters: '', widths: {} } };
  const script = fileURLToPath(new URL('../../activities/office/makeFonts.py', import.meta.url));
  await exec('python3', [script, JSON.stringify(made), folder, '/usr/share/fonts']);
  const key = '{11223344-5566-7788-99AA-BBCCDDEEFF00}';
  const fonts = `<w:fonts ${NAMES}><w:font w:name="${family}"><w:embedRegular r:id="rId1" w:fontKey="${key}"/></w:font></w:fonts>`;
  const relations = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/font" Target="fonts/a.odttf"/></Relationships>`;
  const bytes = makeDocx({
    body: `<w:p><w:r><w:rPr><w:rFonts w:ascii="${family}" w:hAnsi="${family}"/></w:rPr><w:t>Own</w:t></w:r></w:p>`,
    parts: [
      {
        name: 'word/fontTable.xml',
        data: fonts,
        relation: 'fontTable',
        contentType: `${OPENXML}.fontTable+xml`,
      },
      {
        name: 'word/fonts/a.odttf',
        data: obfuscate(readFileSync(join(folder, `${family}-regular.ttf`)), key),
        relation: 'font',
        contentType: 'application/vnd.openxmlformats-officedocument.obfuscatedFont',
      },
    ],
    extra: [{ name: 'word/_rels/fontTable.xml.rels', data: relations }],
  });
  const { path, output } = await convert(bytes, 'own.docx');
  t.regex((await exec('pdffonts', [path])).stdout, /CorporateOwn/);
  t.deepEqual(output.replacedFonts, []);
});

test.serial('missing fonts are replaced by fonts of the same widths, and reported', async (t) => {
  const text = 'Hamburgefonstiv 0123456789 ';
  const styled = (font: string) =>
    `<w:p><w:r><w:rPr><w:rFonts w:ascii="${font}" w:hAnsi="${font}"/></w:rPr><w:t>${text.repeat(8)}</w:t></w:r></w:p>`;
  const { output, path } = await convert(
    makeDocx({ body: styled('Aptos') + styled('Cambria') }),
    'fonts.docx',
  );
  t.deepEqual(output.replacedFonts, [
    { font: 'Aptos', replacement: 'Metric Aptos' },
    { font: 'Cambria', replacement: 'Metric Cambria' },
  ]);
  t.regex((await exec('pdffonts', [path])).stdout, /MetricAptos[\s\S]*MetricCambria/);
});

test.serial('a document that asks for it is hyphenated', async (t) => {
  const word =
    '<w:r><w:rPr><w:lang w:val="en-US"/></w:rPr><w:t xml:space="preserve">hyphenation internationalization </w:t></w:r>';
  const { text } = await convert(
    makeDocx({
      body: `<w:p>${word.repeat(20)}</w:p>`,
      parts: [
        {
          name: 'word/settings.xml',
          relation: 'settings',
          contentType: `${OPENXML}.settings+xml`,
          data: `<w:settings ${NAMES}><w:autoHyphenation/></w:settings>`,
        },
      ],
    }),
    'hyphens.docx',
  );
  t.regex(text, /[a-z]-\n/);
});

test.serial('characters that no font has are reported', async (t) => {
  const { output } = await convert(makeDocx({ body: paragraph('a\u{12f90}ö→') }), 'rare.docx');
  t.deepEqual(output.undrawnCharacters, ['\u{12f90}']);
});

test.serial('a document of which words would be lost is refused', async (t) => {
  const shorter = makeDocx({ body: paragraph('One two') });
  const losing: Office = {
    ...resource,
    convert: (document, limits) => resource.convert({ ...document, bytes: shorter }, limits),
  };
  const refused = convert(
    makeDocx({ body: paragraph('One two') + paragraph('three four') }),
    'lost.docx',
    losing,
  );
  t.is(await codeOf(() => refused), 'unsupported_source');
  t.false(existsSync(join(folder, 'lost.docx.pdf')));
});

test.serial('a timeout of a document with a long table says how long the table is', async (t) => {
  const row = `<w:tr><w:tc>${paragraph('cell')}</w:tc></w:tr>`;
  const table = (rows: number) =>
    `<w:tbl><w:tblGrid><w:gridCol w:w="3000"/></w:tblGrid>${row.repeat(rows)}</w:tbl>${paragraph('After')}`;
  const hurried: Office = {
    ...resource,
    convert: (document, limits) => resource.convert(document, { ...limits, deadline: Date.now() }),
  };
  const code = 'deadline_exceeded';
  const timedOut = (rows: number) =>
    convert(makeDocx({ body: table(1) + table(rows) }), `${rows}.docx`, hurried);
  await t.throwsAsync(timedOut(1200), { code, message: /a table of 1200 rows/ });
  await t.throwsAsync(timedOut(20), { code, message: /^((?!rows).)*$/ });
});

test('words with letters that their font lacks are found in the PDF', async (t) => {
  // Uzbek, Kazakh and Abkhaz letters.
  const words = 'Қурилиш ишлаб чиқариш, ўқитиладиган Ҳуқуқшунослик; қазақша әңгіме; аԥсуа бызшәа';
  const fonts = '<w:rFonts w:ascii="Times New Roman" w:hAnsi="Times New Roman" w:cs="Times New Roman"/>';
  const body = `<w:p><w:r><w:rPr>${fonts}</w:rPr><w:t>${words}</w:t></w:r></w:p>`;
  const { output } = await convert(makeDocx({ body }), 'letters.docx');
  t.deepEqual(output.textCheck, { words: 9, uncertainWords: 0 });
});
