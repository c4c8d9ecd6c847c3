import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BatchResult } from '../batches.ts';
import { fileOf } from '../result.ts';
import type { Command } from './command.ts';

/** A row in `results.ndjson`: without the content of its file, of which `file` is the path, and with the digest of its whole output. */
export interface StoredRow extends BatchResult {
  file: string | null;
  outputSha256: string | null;
}

/** The fields of a stored row that the manifest adds up. */
export type CountedRow = Pick<StoredRow, 'row' | 'charged' | 'outputSha256'>;

const FILES = 'files';
/** Digits of the number of a row in the name of its file; enough for the largest batch. */
const DIGITS = 5;
const LONGEST_NAME = 100;
const OUTPUT = ',"output":';
const ERROR = ',"error":';

export const digestOf = (data: string | Uint8Array): string =>
  createHash('sha256').update(data).digest('hex');

/** Removes what could lead out of the folder, or is no name on common systems. */
const safeName = (name: string): string =>
  name
    .replace(/[\p{Cc}/\\:*?"<>|]/gu, '_')
    .replace(/^[. ]+|[. ]+$/g, '')
    .slice(-LONGEST_NAME) || 'file';

/** The digest of the output, which the line has byte for byte. */
function outputDigest(text: string, { output }: BatchResult): string | null {
  if (output === null) return null;
  return digestOf(text.slice(text.indexOf(OUTPUT) + OUTPUT.length, text.lastIndexOf(ERROR)));
}

/** Saves the file of a row in a folder. @param text the line of the row @returns the row without the content of the file */
export async function saveRow(
  folder: string,
  tools: readonly Command[],
  text: string,
  result: BatchResult,
): Promise<StoredRow> {
  const { row, tool, output } = result;
  const outputSha256 = outputDigest(text, result);
  const fields = tools.find(({ name }) => name === tool)?.file ?? null;
  if (output === null || fields === null || typeof output[fields.data] !== 'string')
    return { ...result, file: null, outputSha256 };
  const content = fileOf({ name: tool, hasSecrets: false }, fields, output);
  await mkdir(join(folder, FILES), { recursive: true });
  const file = `${FILES}/${String(row).padStart(DIGITS, '0')}-${safeName(content.name)}`;
  await writeFile(join(folder, file), content.bytes());
  return { ...result, output: { ...output, [fields.data]: null }, file, outputSha256 };
}

/** Whether a line of `results.ndjson` is a row, and not the beginning of one. */
export const isCountedRow = (value: unknown): value is CountedRow =>
  typeof value === 'object' &&
  value !== null &&
  'row' in value &&
  'charged' in value &&
  'outputSha256' in value;
