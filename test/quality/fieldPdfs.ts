import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { PDFDocument } from 'pdf-lib';
import { FIELD_PDFS, type FieldPdf } from '../helpers/fieldPdfs.ts';
import { startFiles } from '../helpers/images.ts';
import { loadTool } from '../helpers/tool.ts';
import type { Report } from './report.ts';
import { table } from './table.ts';

type Fields = Record<string, unknown>;
/** Returns the fields of the tool's output that a program reads, or null if it cannot read the file. */
type Reader = (path: string, bytes: Buffer) => Promise<Fields | null>;

/** Time limit of a program for a file, that of the tool, in milliseconds. */
const TIMEOUT_MS = 15_000;
const run = promisify(execFile);
const orNull = <T>(work: Promise<T>): Promise<T | null> => work.catch(() => null);

/** Returns the output of a program, which may report errors and go on. */
async function output(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(program, args, { timeout: TIMEOUT_MS, maxBuffer: 2 ** 26 });
  return stdout;
}

const pdfinfo: Reader = async (path) => {
  const text = await orNull(output('pdfinfo', ['-enc', 'UTF-8', path]));
  if (text === null) return null;
  // Texts can have several lines.
  const value = (key: string) =>
    new RegExp(`^${key}: +([^]*?)\\n(?=[A-Z][A-Za-z ]*: )`, 'm').exec(text)?.[1]?.trim() ?? null;
  return {
    title: value('Title'),
    author: value('Author'),
    subject: value('Subject'),
    producer: value('Producer'),
    pageCount: Number(value('Pages')),
    encrypted: value('Encrypted')?.startsWith('yes') ?? false,
  };
};

const exiftool: Reader = async (path) => {
  const text = await orNull(output('exiftool', ['-j', '-G1', '-a', path]));
  if (text === null) return null;
  const [found = {}]: Fields[] = JSON.parse(text);
  const value = (...keys: readonly string[]) =>
    keys.map((key) => found[key]).find((it) => it !== undefined) ?? null;
  const claim = (part: unknown, level: unknown) =>
    part === null ? null : { part, conformance: typeof level === 'string' ? level.toUpperCase() : level };
  return {
    title: value('PDF:Title', 'XMP-dc:Title'),
    author: value('PDF:Author', 'XMP-dc:Creator'),
    subject: value('PDF:Subject', 'XMP-dc:Description'),
    producer: value('PDF:Producer', 'XMP-pdf:Producer'),
    pageCount: value('PDF:PageCount'),
    encrypted: value('PDF:Encryption') !== null,
    claims: {
      pdfA: claim(value('XMP-pdfaid:Part'), value('XMP-pdfaid:Conformance')),
      pdfUA: claim(value('XMP-pdfuaid:Part'), null),
    },
  };
};

const qpdf: Reader = async (path) => {
  const pages = await orNull(output('qpdf', ['--warning-exit-0', '--show-npages', path]));
  return pages === null ? null : { pageCount: Number(pages.trim()) };
};

const pdfLib: Reader = async (_, bytes) => {
  const document = await orNull(PDFDocument.load(bytes, { ignoreEncryption: true, updateMetadata: false }));
  if (document === null) return null;
  try {
    return {
      title: document.getTitle() ?? null,
      author: document.getAuthor() ?? null,
      subject: document.getSubject() ?? null,
      producer: document.getProducer() ?? null,
      pageCount: document.getPageCount(),
      encrypted: document.isEncrypted,
    };
  } catch {
    return null;
  }
};

/** The fields that a program reads, of those that a file is about. Null if the file is about others only. */
function isRight(
  found: Fields | null,
  wanted: FieldPdf['wanted'],
  fields: readonly string[],
): boolean | null {
  const keys = Object.keys(wanted).filter((key) => fields.includes(key));
  if (keys.length === 0) return null;
  return found !== null && keys.every((key) => isDeepStrictEqual(found[key], wanted[key]));
}

const INFO = ['title', 'author', 'subject', 'producer', 'pageCount', 'encrypted'];
const OTHERS: readonly { name: string; read: Reader; fields: readonly string[] }[] = [
  { name: 'pdfinfo', read: pdfinfo, fields: INFO },
  { name: 'exiftool', read: exiftool, fields: [...INFO, 'claims'] },
  { name: 'qpdf', read: qpdf, fields: ['pageCount'] },
  { name: 'pdf-lib', read: pdfLib, fields: INFO },
];

/**
 * Compares pdf-metadata with other programs on files of the kinds that bug reports tell of. A program is right about a file if
 * all fields are right that it reads and that the file is about. The tool must be right about all.
 *
 * @param kinds kinds to compare
 */
export async function compareFieldPdfs(kinds = /./): Promise<Report> {
  const tool = await loadTool('pdf-metadata');
  const files = await startFiles();
  const own = async (bytes: Buffer) =>
    orNull(tool.call({ fileUrl: files.put({ bytes }) }, { egress: files.guard }));
  const programs = [
    {
      name: 'pdf-metadata',
      read: (_: string, bytes: Buffer) => own(bytes),
      fields: [...INFO, 'unreadable', 'claims'],
    },
    ...OTHERS,
  ];
  const folder = await mkdtemp(join(tmpdir(), 'field-pdfs-'));
  const rows: (string | number)[][] = [];
  let failed = 0;
  try {
    for (const [kind, make] of Object.entries(FIELD_PDFS)) {
      if (!kinds.test(kind)) continue;
      const inputs = await make();
      const cells: string[] = [];
      for (const { name, read, fields } of programs) {
        const outcomes: (boolean | null)[] = [];
        for (const { bytes, wanted } of inputs) {
          const path = join(folder, 'file.pdf');
          await writeFile(path, bytes);
          outcomes.push(isRight(await read(path, bytes), wanted, fields));
        }
        const asked = outcomes.filter((it) => it !== null);
        const right = asked.filter(Boolean).length;
        if (name === 'pdf-metadata') failed += inputs.length - right;
        cells.push(asked.length === 0 ? '' : `${right} of ${asked.length}`);
      }
      rows.push([kind, ...cells]);
    }
  } finally {
    await rm(folder, { recursive: true });
    files.close();
  }
  const head = ['PDF files, right about', ...programs.map(({ name }) => name)];
  return {
    figures: [{ kinds: rows.length, 'files about which pdf-metadata is wrong': failed }],
    document: null,
    anchors: { name: 'fieldPdfs', text: table(head, rows) },
    isGood: failed === 0,
  };
}
