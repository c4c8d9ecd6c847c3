import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { office } from '../../activities/office/office.ts';
import { readEnv } from '../../schemas/env.ts';
import { startFiles } from '../helpers/images.ts';
import { convertWithLibreOffice, drawPdf, makeDocx, makeOdt, readPdf } from '../helpers/office.ts';
import { childrenOf, stillAlive } from '../helpers/processes.ts';
import { loadTool } from '../helpers/tool.ts';
import { until } from '../helpers/until.ts';

/** Milliseconds within which killed processes must be gone. */
const GONE_MS = 5000;

const folder = await mkdtemp(join(tmpdir(), 'word-to-pdf-'));
/** The tool's folder for temporary files, inside a folder that the test can inspect. */
const scratch = join(folder, 'scratch');
await mkdir(scratch);
process.env.TMPDIR = scratch;
const tool = await loadTool('word-to-pdf');
const files = await startFiles();
const resource = await office.open({ env: readEnv(), log: () => undefined });
test.after.always(async () => {
  await resource[Symbol.asyncDispose]();
  files.close();
  await rm(folder, { recursive: true, force: true });
});

const REAL = fileURLToPath(new URL('../../node_modules/mammoth/test/test-data/', import.meta.url));
/** Documents written by Word, from the tests of the npm package mammoth. */
const WORD = ['comments', 'endnotes', 'strict-format', 'tables', 'text-box', 'tiny-picture'];
const WORD_97 = fileURLToPath(new URL('../vectors/office/word-97.doc', import.meta.url));

const rtfText = (text: string): string =>
  Array.from(text, (character) =>
    character >= ' ' && character <= '~'
      ? character
      : Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at)}?`).join(''),
  ).join('');
const paragraph = (text: string): string => `{${rtfText(text)}}\\par\n`;
const row = (cells: string[]): string =>
  `\\trowd${cells.map((_, at) => `\\cellx${(at + 1) * 2500}`).join('')}\\pard\\intbl ${cells.map((cell) => `${rtfText(cell)}\\cell `).join('')}\\row\n`;
const rtf = (body: string): string =>
  `{\\rtf1\\ansi\\uc1{\\fonttbl{\\f0 Calibri;}{\\f1 Cambria;}{\\f2 Times New Roman;}}{\\header\\pard Header of the document\\par}\\f0\\fs22 ${body}}`;

const LOREM = 'The quick brown fox jumps over the lazy dog while five wizards box quickly. '.repeat(6);
const SOURCES = {
  letter: rtf(`\\f2 ${paragraph('Dear reader,')}${paragraph(LOREM)}{\\b ${paragraph('Yours sincerely')}}`),
  book: rtf(
    Array.from({ length: 90 }, (_, at) => paragraph(`${at + 1}. ${LOREM}`)).join('') +
      `\\page\\pard ${Array.from({ length: 40 }, (_, at) => row([`Item ${at}`, `${at * 7}`, 'naïve façade'])).join('')}\\pard\\par`,
  ),
  scripts: rtf(
    [
      'Ελληνικά και μαθηματικά',
      'Русский текст',
      'Zażółć gęślą jaźń',
      '日本語の文章',
      '中文测试',
      '한국어',
      'हिन्दी पाठ',
      'ภาษาไทย',
    ]
      .map(paragraph)
      .join(''),
  ),
};

/** Programs that write documents with other libraries: Python's odfpy and Perl's RTF::Writer. */
const WRITERS = [
  ['/usr/bin/python3', 'odt.py'],
  ['/usr/bin/perl', 'rtf.pl'],
] as const;

const written = () =>
  Promise.all(
    WRITERS.map(async ([program, script]) => {
      const path = join(folder, `written.${script.replace(/\..*/, '')}`);
      await promisify(execFile)(program, [
        fileURLToPath(new URL(`../writers/${script}`, import.meta.url)),
        path,
      ]);
      return path;
    }),
  );

/** Creates documents of all four kinds. */
async function makeDocuments(): Promise<string[]> {
  const sources = await Promise.all(
    Object.entries(SOURCES).map(async ([name, text]) => {
      const path = join(folder, `${name}.rtf`);
      await writeFile(path, text);
      return path;
    }),
  );
  const made: string[] = [];
  for (const to of ['doc', 'docx', 'odt']) made.push(...(await convertWithLibreOffice(folder, to, sources)));
  const byWord = [...WORD.map((name) => join(REAL, `${name}.docx`)), WORD_97];
  return [...byWord, ...(await written()), ...sources, ...made];
}

test.serial('a spare LibreOffice process has already laid out a Word page', async (t) => {
  const warm = fileURLToPath(new URL('../../activities/office/warm.docx', import.meta.url));
  const [plain = ''] = await convertWithLibreOffice(folder, 'pdf', [warm]);
  const { text } = await readPdf(plain);
  t.regex(text, /\w/);
  const bytes = Buffer.from(SOURCES.letter);
  await tool.call({ fileUrl: files.put({ bytes }, 'a.rtf') }, { egress: files.guard, resource });
  const pdfOf = (pid: number) => `/proc/${pid}/root/tmp/warm.pdf`;
  const isWarm = (pid: number) => existsSync(pdfOf(pid)) && readFileSync(pdfOf(pid)).includes('%%EOF');
  const warmed = () => childrenOf(process.pid, /^[^\0]*soffice\.bin\0/).filter(isWarm);
  await until('a spare process is warm', async () => warmed().length > 0);
  t.is((await readPdf(pdfOf(warmed()[0] ?? 0))).text, text);
});

/** Content types of the main part by file extension (ECMA-376-1, 15.2; [MS-OFFMACRO] 2.1). */
const KINDS = {
  docm: 'application/vnd.ms-word.document.macroEnabled.main+xml',
  dotx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml',
  dotm: 'application/vnd.ms-word.template.macroEnabledTemplate.main+xml',
};
for (const [extension, mainType] of Object.entries(KINDS))
  test.serial(`a .${extension} is converted`, async (t) => {
    const bytes = makeDocx({ mainType });
    const source = files.put({ bytes }, `letter.${extension}`);
    const output = await tool.call({ fileUrl: source }, { egress: files.guard, resource });
    t.is(output.fileName, 'letter.pdf');
    const made = join(folder, 'kind.pdf');
    await writeFile(made, Buffer.from(String(output.fileBase64), 'base64'));
    t.is((await readPdf(made)).text.trim(), 'Hello');
  });

const field = (instruction: string) =>
  `<w:p><w:fldSimple w:instr="${instruction}"><w:r><w:t>before</w:t></w:r></w:fldSimple></w:p>`;
const display = (kind: string) =>
  `<text:p><text:file-name text:display="${kind}">before</text:file-name></text:p>`;
const NAMED: [name: string, bytes: Buffer, lines: string[]][] = [
  [
    'annual report.docx',
    makeDocx({ body: field(' FILENAME ') + field(' FILENAME \\p ') }),
    ['annual report.docx', 'annual report.docx'],
  ],
  [
    'Résumé.odt',
    makeOdt(['full', 'path', 'name', 'name-and-extension'].map(display).join('')),
    ['Résumé.odt', 'Résumé.odt', 'Résumé', 'Résumé.odt'],
  ],
  [
    'old.rtf',
    Buffer.from('{\\rtf1{\\field{\\*\\fldinst FILENAME \\\\p}{\\fldrslt before}}\\par}'),
    ['old.rtf'],
  ],
];
for (const [name, bytes, lines] of NAMED)
  test.serial(`document fields for the file name and path show ${name}`, async (t) => {
    const source = files.put(
      {
        bytes,
        headers: { 'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name)}` },
      },
      'x',
    );
    const output = await tool.call({ fileUrl: source }, { egress: files.guard, resource });
    const made = join(folder, 'field.pdf');
    await writeFile(made, Buffer.from(String(output.fileBase64), 'base64'));
    t.deepEqual(
      (await readPdf(made)).text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '' && line !== '\f'),
      lines,
    );
  });

test.serial('emoji and rare letters beside CJK text are rendered as neither blanks nor boxes', async (t) => {
  const mixed = '日本語 𝔘';
  // The first two entries are for comparison: a blank, and the box for the unassigned code point U+0378.
  const alone = ['', '\u0378', '🚀', '👨‍👩‍👧', '❤️', '✅', '⚠️', '☺', '☃', '☎'];
  const beside = ['', '\u0378', '𐍈', 'ᚠ', '🚀', '☃'].map((it) => `${mixed} ${it}`);
  const lines = [...alone, ...beside];
  const bytes = Buffer.from(`{\\rtf1\\ansi\\uc1\\fs40 ${lines.map(paragraph).join('\\page ')}}`);
  const output = await tool.call(
    { fileUrl: files.put({ bytes }, 'emoji.rtf') },
    { egress: files.guard, resource },
  );
  const made = join(folder, 'emoji.pdf');
  await writeFile(made, Buffer.from(String(output.fileBase64), 'base64'));
  const pages = await drawPdf(made);
  t.is(pages.length, lines.length);
  for (const [at, page] of pages.entries()) {
    const same = pages.findIndex((other) => other.equals(page));
    t.is(lines[same], lines[at]);
  }
});

test.serial('documents are converted as by an unsandboxed LibreOffice; no files remain', async (t) => {
  t.timeout(24 * 3_600_000);
  const documents = await makeDocuments();
  t.is(documents.length, 21);
  const times = Math.ceil(Number(process.env.TEST_DOCUMENTS ?? documents.length) / documents.length);
  const expected = new Map<string, { pages: number; text: string }>();
  for (const [at, document] of documents.entries()) {
    const copy = join(folder, `${at}${basename(document).replace(/^.*\./, '.')}`);
    await writeFile(copy, readFileSync(document));
    expected.set(copy, { pages: 0, text: '' });
  }
  for (const pdf of await convertWithLibreOffice(folder, 'pdf', [...expected.keys()])) {
    const source = [...expected.keys()].find((path) => basename(path).startsWith(basename(pdf, 'pdf'))) ?? '';
    expected.set(source, await readPdf(pdf));
  }
  for (let time = 0; time < times; time++)
    for (const [path, { pages, text }] of expected) {
      const name = basename(path);
      const output = await tool.call(
        { fileUrl: files.put({ bytes: readFileSync(path) }, name) },
        { egress: files.guard, resource },
      );
      const pdf = Buffer.from(String(output.fileBase64), 'base64');
      t.like(output, {
        mimeType: 'application/pdf',
        fileName: name.replace(/\w+$/, 'pdf'),
        sizeBytes: pdf.length,
      });
      const made = join(folder, 'made.pdf');
      await writeFile(made, pdf);
      const facts = await readPdf(made);
      t.true(facts.pages > 0, name);
      t.is(facts.pages, pages, name);
      t.is(facts.text, text, name);
    }
  const pids = childrenOf(process.pid, /soffice|bwrap/);
  t.true(pids.length > 0, 'spare processes are kept warm');
  await resource[Symbol.asyncDispose]();
  t.deepEqual(await stillAlive(pids, GONE_MS), []);
  t.deepEqual(readdirSync(scratch), []);
});
