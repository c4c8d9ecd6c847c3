import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ServiceError } from '../../schemas/errors.ts';
import { startFiles } from '../helpers/images.ts';
import { loadTool } from '../helpers/tool.ts';
import type { Report } from './report.ts';

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

/** Reads the file if it is named like a PDF or begins like one. */
async function readCandidate(path: string): Promise<Buffer | null> {
  if (!(await stat(path)).isFile()) return null;
  const bytes = await readFile(path);
  return path.endsWith('.pdf') || bytes.subarray(0, 1024).includes('%PDF-') ? bytes : null;
}

const joinLines = (text: unknown): string =>
  typeof text === 'string' ? text.replaceAll(/\s+/g, ' ').trim() : '';

type Answer = { code: string; fields: Record<string, unknown> };

/** Returns what the tool answers, and the end of the server from which it reads the files. */
async function startTool() {
  const tool = await loadTool('pdf-metadata');
  const files = await startFiles();
  return {
    async ask(bytes: Buffer): Promise<Answer> {
      try {
        const fileUrl = files.put({ bytes }, 'file.pdf');
        return { code: 'ok', fields: await tool.call({ fileUrl }, { egress: files.guard }) };
      } catch (error) {
        if (error instanceof ServiceError) return { code: error.code, fields: {} };
        throw error;
      }
    },
    close: () => files.close(),
  };
}

/**
 * Compares pdf-metadata with other programs: which files open, how many pages they have, and what pdfinfo reads as their texts.
 * Skips programs that are not installed. Prints what differs. The tool may refuse no file in which another program finds a page.
 *
 * @param folder with files, also in subfolders; those that are not named `.pdf` are compared if they begin like a PDF
 */
export async function comparePdfMetadata(folder: string): Promise<Report> {
  const names = (await readdir(folder, { recursive: true })).sort();
  const tool = await startTool();
  let compared = 0;
  let refused = 0;
  const programs = ['ours', 'pdfinfo', ...Object.keys(COUNTERS)];
  const opened = new Map(programs.map((program) => [program, 0]));
  const samePages = new Map(programs.map((program) => [program, 0]));
  const sameTexts = new Map<string, number>(TEXTS.map((key) => [key, 0]));
  const count = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);

  async function compare(name: string): Promise<void> {
    const path = join(folder, name);
    const bytes = await readCandidate(path);
    if (bytes === null) return;
    compared += 1;
    const [{ code, fields }, info] = await Promise.all([tool.ask(bytes), pdfinfo(path)]);
    const others: Record<string, number | null> = { pdfinfo: info?.pages ?? null };
    for (const [program, countPages] of Object.entries(COUNTERS)) others[program] = await countPages(path);
    if (code === 'ok') count(opened, 'ours');
    for (const [program, pages] of Object.entries(others)) {
      if (pages === null) continue;
      count(opened, program);
      if (pages === fields.pageCount) count(samePages, program);
    }
    const otherTexts = TEXTS.filter(
      (key) => info !== null && joinLines(info[key]) !== joinLines(fields[key]),
    );
    if (info !== null) for (const key of TEXTS) if (!otherTexts.includes(key)) count(sameTexts, key);
    const counts = Object.values(others).filter((pages) => pages !== null);
    if (counts.some((pages) => pages > 0) && code !== 'ok') refused += 1;
    if (counts.every((pages) => pages === fields.pageCount) && otherTexts.length === 0) return;
    console.log(`${name}: ${JSON.stringify({ ours: fields.pageCount ?? code, ...others })}`);
    for (const key of otherTexts)
      console.log(`${name}: ${key} ${JSON.stringify([fields[key], info?.[key]])}`);
  }

  const waiting = names.values();
  await Promise.all(
    Array.from({ length: availableParallelism() }, async () => {
      for (const name of waiting) await compare(name);
    }),
  );
  tool.close();
  return {
    figures: [
      { files: compared, 'refused with a page for another program': refused },
      ...programs.map((program) => ({
        program,
        opened: opened.get(program) ?? 0,
        'same page count': samePages.get(program) ?? 0,
      })),
      { 'texts as pdfinfo': '', ...Object.fromEntries(sameTexts) },
    ],
    document: null,
    isGood: refused === 0,
  };
}
