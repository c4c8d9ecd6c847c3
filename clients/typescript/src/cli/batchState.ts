import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BatchFileType } from '../batches.ts';
import { parseJson } from '../response.ts';

/** The batch of a folder, as its file `batch.json` has it. It is written before the batch is created. */
export interface BatchState {
  /** Null until the service has accepted the batch. */
  id: string | null;
  /** The key of its creation, so that a repetition finds the batch whose response was lost. */
  idempotencyKey: string;
  startedAt: string;
  type: BatchFileType;
  tool: string | null;
  maxCredits: number | null;
  /** SHA-256 of the input in hexadecimal. */
  input: string;
}

const pathIn = (folder: string): string => join(folder, 'batch.json');

const isState = (value: unknown): value is BatchState =>
  typeof value === 'object' &&
  value !== null &&
  'idempotencyKey' in value &&
  typeof value.idempotencyKey === 'string' &&
  'id' in value &&
  (value.id === null || typeof value.id === 'string');

/** Reads the state of a folder; null if it has none. */
export async function readState(folder: string): Promise<BatchState | null> {
  const state = parseJson(await readFile(pathIn(folder), 'utf8').catch(() => ''));
  return isState(state) ? state : null;
}

/** Replaces the state of a folder at once, so that it is complete whenever the command is stopped. */
export async function writeState(folder: string, state: BatchState): Promise<void> {
  const path = pathIn(folder);
  await writeFile(`${path}.new`, `${JSON.stringify(state, null, 2)}\n`);
  await rename(`${path}.new`, path);
}

export const removeState = (folder: string): Promise<void> => rm(pathIn(folder), { force: true });
