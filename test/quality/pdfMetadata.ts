import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ServiceError } from '../../schemas/errors.ts';
import { startFiles } from '../helpers/images.ts';
import { loadTool } from '../helpers/tool.ts';

/**
 * Compares pdf-metadata with other programs on the PDF files in the folder PDFS: which files open, how many pages they
 * have, and which text fields pdfinfo reads that the tool does not. Skips programs that are not installed. Exits with 1
 * if the tool cannot open a file in which another program finds a page.
 */

const TIMEOUT_MS = 60_000;
const run = promisify(execFile);

const PIKEPDF = 'import pikepdf, sys; print(len(pikepdf.open(sys.argv[1]).pages))';

const TEXTS = ['title', 'author', 'subject', 'producer'] as const;
type Info = Record<(typeof TEXTS)[number], string | null> & { pages: number };

async function read(path: string, command: readonly string[], pages: RegExp): Promise<string | null> {
  const [file = '', ...args] = command;
  try {
    const { stdout } = await run(file, [...args, path], { timeout: TIMEOUT_MS, maxBuffer: 2 ** 26 });
    return pages.test(stdout) ? stdout : null;
  } catch {
    return null;
  }
}

const counter = (command: readonly string[], pages: RegExp) => async (path: string) => {
  const text = await read(path, command, pages);
  return text === null ? null : Number(pages.exec(text)?.[1]);
};

async function pdfinfo(path: string): Promise<Info | null> {
  const pages = /^Pages:\s+(\d+)$/m;
  const text = await read(path, ['pdfinfo', '-enc', 'UTF-8'], pages);
  if (text === null) return null;
  const field = (key: string) => new RegExp(`^${key}:[ ]+(\\S.*)$`, 'm').exec(text)?.[1]?.trim() ?? null;
  return {
    pages: Number(pages.exec(text)?.[1]),
    title: field('Title'),
    author: field('Author'),
    subject: field('Subject'),
    producer: field('Producer'),
  };
}

const COUNTERS = {
  qpdf: counter(['qpdf', '--warning-exit-0', '--show-npages'], /^(\d+)$/m),
  mutool: counter(['mutool', 'info'], /^Pages: (\d+)$/m),
  pikepdf: counter(['/usr/bin/python3', '-c', PIKEPDF], /^(\d+)$/m),
};

const { PDFS: folder } = process.env;
if (folder === undefined) throw new Error('Set PDFS to a folder of PDF files');
const names = (await readdir(folder)).filter((name) => name.endsWith('.pdf')).sort();
const tool = await loadTool('pdf-metadata');
const files = await startFiles();

async function ask(path: string): Promise<{ code: string; fields: Record<string, unknown> }> {
  try {
    const fileUrl = files.put({ bytes: await readFile(path) }, 'file.pdf');
    return { code: 'ok', fields: await tool.call({ fileUrl }, { egress: files.guard }) };
  } catch (error) {
    if (error instanceof ServiceError) return { code: error.code, fields: {} };
    throw error;
  }
}

const opened = { ours: 0, pdfinfo: 0 };
const rows: Record<string, Record<string, unknown>> = {};
let refused = 0;

/**
 * Compares one file. The programs other than pdfinfo run only for files that the tool does not open, or whose page
 * count differs.
 */
async function compare(name: string): Promise<void> {
  const path = join(folder ?? '', name);
  const [{ code, fields }, info] = await Promise.all([ask(path), pdfinfo(path)]);
  const ours = code === 'ok' ? fields.pageCount : code;
  if (typeof ours === 'number') opened.ours += 1;
  if (info !== null) opened.pdfinfo += 1;
  const lost = TEXTS.filter((key) => info !== null && info[key] !== null && fields[key] === null);
  const agrees = typeof ours === 'number' && (info === null || info.pages === ours);
  if (agrees && lost.length === 0) return;
  const others: Record<string, number | null> = { pdfinfo: info?.pages ?? null };
  for (const [program, count] of Object.entries(COUNTERS)) others[program] = await count(path);
  const isOpened = Object.values(others).some((pages) => pages !== null && pages > 0);
  if (isOpened && typeof ours !== 'number') refused += 1;
  if (isOpened) rows[name] = { ours, ...others, 'texts not read': lost.join(', ') };
}

const waiting = names.values();
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (const name of waiting) await compare(name);
  }),
);
files.close();
console.table(rows);
console.table({
  files: names.length,
  'opened by ours': opened.ours,
  'opened by pdfinfo': opened.pdfinfo,
  refused,
});
process.exit(refused > 0 ? 1 : 0);
