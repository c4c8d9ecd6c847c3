import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';

/** Pages of public reports about screenshots and PDFs; `name` is that of a file in test/cases/pages. */
export const casePage = (name: string): Promise<string> =>
  readFile(new URL(`../cases/pages/${name}.html`, import.meta.url), 'utf8');

/** Decoded pixels. `at` returns red, green and blue of one of them as text. */
export interface Pixels {
  width: number;
  height: number;
  at(x: number, y: number): string;
}

export async function pixelsOf(file: Buffer): Promise<Pixels> {
  const { data, info } = await sharp(file).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return {
    width: info.width,
    height: info.height,
    at: (x, y) => data.subarray(3 * (y * info.width + x), 3 * (y * info.width + x) + 3).join(),
  };
}

/** What poppler reads of a PDF: its pages, the size of the first in points, and its words in the order of the file. */
export function readPdf(file: Buffer): { pages: number; width: number; height: number; words: string[] } {
  const info = execFileSync('pdfinfo', ['-'], { input: file, encoding: 'utf8' });
  const [, width = 0, height = 0] = (/Page size:\s+([\d.]+) x ([\d.]+)/.exec(info) ?? []).map(Number);
  const text = execFileSync('pdftotext', ['-', '-'], { input: file, encoding: 'utf8' });
  return {
    pages: Number(/Pages:\s+(\d+)/.exec(info)?.[1]),
    width,
    height,
    words: text.split(/\s+/).filter((word) => word !== ''),
  };
}

/** Renders the first page of a PDF with poppler, with one pixel for each CSS pixel. */
export async function renderPdf(file: Buffer): Promise<Pixels> {
  const folder = mkdtempSync(join(tmpdir(), 'pdf-'));
  try {
    const args = ['-png', '-r', '96', '-singlefile', '-', join(folder, 'page')];
    execFileSync('pdftoppm', args, { input: file });
    return await pixelsOf(readFileSync(join(folder, 'page.png')));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
