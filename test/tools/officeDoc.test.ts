import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import prepareDocument from '../../activities/jobs/prepare-document.ts';
import { convertWithLibreOffice, makeDocx } from '../helpers/office.ts';

const folder = await mkdtemp(join(tmpdir(), 'office-doc-'));
test.after.always(() => rm(folder, { recursive: true, force: true }));

const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const OPENXML = 'application/vnd.openxmlformats-officedocument.wordprocessingml';
const run = (text: string, properties = '') =>
  `<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`;
const paragraph = (content: string, properties = '') => `<w:p><w:pPr>${properties}</w:pPr>${content}</w:p>`;
const character = (kind: string) => `<w:r><w:fldChar w:fldCharType="${kind}"/></w:r>`;
const field = (instruction: string, result: string) =>
  `${character('begin')}<w:r><w:instrText xml:space="preserve"> ${instruction} </w:instrText></w:r>${character('separate')}${run(result)}${character('end')}`;
const row = (texts: readonly string[], properties = '') =>
  `<w:tr><w:trPr>${properties}</w:trPr>${texts.map((text) => `<w:tc><w:tcPr><w:tcW w:w="2000" w:type="dxa"/></w:tcPr>${text}</w:tc>`).join('')}</w:tr>`;
const part = (relation: string, root: string, content: string) => ({
  name: `word/${relation}.xml`,
  relation,
  contentType: `${OPENXML}.${relation}+xml`,
  data: `<w:${root} xmlns:w="${WORD}">${content}</w:${root}>`,
});
const note = (kind: string, text: string) =>
  part(
    `${kind}s`,
    `${kind}s`,
    `<w:${kind} w:id="2">${paragraph(`<w:r><w:${kind}Ref/></w:r>${run(text)}`)}</w:${kind}>`,
  );
const hiding = (type: string, id: string) =>
  `<w:style w:type="${type}" w:styleId="${id}"><w:name w:val="${id}"/><w:rPr><w:vanish/></w:rPr></w:style>`;
const derived =
  '<w:style w:type="paragraph" w:styleId="Derived"><w:name w:val="Derived"/><w:basedOn w:val="Secret"/></w:style>';
const table = (...rows: string[]) =>
  `<w:tbl><w:tblGrid><w:gridCol w:w="2000"/><w:gridCol w:w="2000"/></w:tblGrid>${rows.join('')}</w:tbl>`;
const cells = (...texts: string[]) => texts.map((text) => paragraph(run(text)));
const FIXED = '<w:trHeight w:val="300" w:hRule="exact"/>';
const box = `<w:r><w:pict xmlns:v="urn:schemas-microsoft-com:vml"><v:rect style="width:100pt;height:50pt"><v:textbox><w:txbxContent>${paragraph(run('In a box'))}</w:txbxContent></v:textbox></v:rect></w:pict></w:r>`;

/** What a document says, the text that it certainly shows, and the text that programs can cut off. */
const CASES: readonly [body: string, sure: readonly string[], loose?: readonly string[]][] = [
  [paragraph(run('Plain, ') + run('Ελληνικά', '<w:b/>')), ['Plain, Ελληνικά']],
  [paragraph(run('seen ') + run('unseen', '<w:vanish/>') + run('words')), ['seen words']],
  [paragraph(run('secret'), '<w:pStyle w:val="Secret"/>'), []],
  [paragraph(run('also secret'), '<w:pStyle w:val="Derived"/>'), []],
  [paragraph(run('open ') + run('masked', '<w:rStyle w:val="Masked"/>')), ['open ']],
  [
    paragraph(
      `<w:del w:id="1" w:author="a"><w:r><w:delText>deleted</w:delText></w:r></w:del><w:ins w:id="2" w:author="a">${run('inserted')}</w:ins>`,
    ),
    ['inserted'],
  ],
  [paragraph(field('HYPERLINK "http://example.com/"', 'a link') + field('PAGE', '77')), ['a link']],
  [paragraph(run('jkl', '<w:rFonts w:ascii="Wingdings" w:hAnsi="Wingdings"/>') + run('done')), ['done']],
  [
    paragraph(
      `${run('noted')}<w:r><w:footnoteReference w:id="2"/></w:r>${run('twice')}<w:r><w:endnoteReference w:id="2"/></w:r><w:r><w:commentReference w:id="2"/></w:r>`,
    ),
    ['noted twice '],
  ],
  [
    table(row(cells('left', 'right')), row(cells('low', 'row'), FIXED), row(cells('last', ''))) +
      paragraph(run('below')),
    ['left', 'right', 'last', 'below'],
    ['low', 'row'],
  ],
  [
    table(
      row([
        paragraph(run('outer')) + table(row(cells('inner', 'row'), FIXED)) + paragraph(''),
        paragraph(''),
      ]),
    ) + paragraph(run('after')),
    ['after'],
    ['outer', 'inner', 'row'],
  ],
  [paragraph(run('around') + box), ['around'], ['In a box']],
];

test('the text that a .doc of LibreOffice shows', async (t) => {
  const parts = [
    part('styles', 'styles', hiding('paragraph', 'Secret') + hiding('character', 'Masked') + derived),
    part('header', 'hdr', paragraph(run('Running head'))),
    note('footnote', 'Note below'),
    note('endnote', 'Note behind'),
    part('comments', 'comments', `<w:comment w:id="2" w:author="a">${paragraph(run('Comment'))}</w:comment>`),
  ];
  const section = '<w:sectPr><w:headerReference w:type="default" r:id="p1"/></w:sectPr>';
  const body = CASES.map(([it]) => it).join('');
  const path = join(folder, 'source.docx');
  await writeFile(path, makeDocx({ body: body + section, parts }));
  const [made = ''] = await convertWithLibreOffice(folder, 'doc', [path]);
  const { type, text } = await prepareDocument({ bytes: await readFile(made) });
  t.is(type.extension, 'doc');
  const trimmed = (texts: readonly string[]) => texts.map((it) => it.trim());
  t.deepEqual(
    trimmed(text?.sure ?? []),
    trimmed([...CASES.flatMap(([, sure]) => sure), 'Note below', 'Note behind']),
  );
  t.deepEqual(trimmed(text?.loose ?? []), trimmed(CASES.flatMap(([, , loose = []]) => loose)));
});
