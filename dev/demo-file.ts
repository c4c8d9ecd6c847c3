import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '../schemas/isRecord.ts';
import { StartError } from './start-error.ts';

/** The content of demo.json: addresses and credentials of the running stack, for programs on this machine. */
export interface DemoFile {
  baseUrl: string;
  dashboardUrl: string;
  temporalUiUrl: string | null;
  email: string;
  password: string;
  /** API key of scope `tools`. */
  apiKey: string;
  /** API key of scope `account`. */
  accountKey: string;
  accountId: string;
  temporalAddress: string;
  temporalNamespace: string;
  mongodbUri: string;
  internalUrl: string;
  codecUrl: string;
}

/**
 * Reads the file `<folder>/demo.json` that the last start wrote; null if the file does not exist.
 *
 * @throws StartError when the file is damaged. A damaged file is not replaced, because it holds the only copy of the
 *   demo password and keys.
 */
export async function readDemoFile(folder: string): Promise<Record<string, unknown> | null> {
  const path = join(folder, 'demo.json');
  try {
    const content: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (isRecord(content)) return content;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new StartError(
    `${path} is damaged (not a JSON object). Restore it, or delete it to get a new demo password and new keys.`,
  );
}

/** Writes the file `<folder>/demo.json` atomically, readable only by its owner. */
export async function writeDemoFile(folder: string, content: DemoFile): Promise<void> {
  const path = join(folder, 'demo.json');
  const draft = `${path}.${randomUUID()}`;
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(content, null, 2)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}
