import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '../schemas/isRecord.ts';
import { StartError } from './start-error.ts';

/** What programs on this machine need to use the running stack. */
export interface DemoFile {
  baseUrl: string;
  dashboardUrl: string;
  temporalUiUrl: string | null;
  email: string;
  password: string;
  /** Calls the tools. */
  apiKey: string;
  /** Manages the account. */
  accountKey: string;
  accountId: string;
  temporalAddress: string;
  temporalNamespace: string;
  mongodbUri: string;
  internalUrl: string;
  codecUrl: string;
}

/**
 * The last start's `<folder>/demo.json`; null when there is none.
 *
 * @throws StartError when it is damaged: its password and keys can be read nowhere else, so it is not replaced silently
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
    `${path} is damaged (not a JSON object); restore it, or delete it to get a new demo password and keys`,
  );
}

/** Writes `<folder>/demo.json`, readable by its owner alone; who reads it sees the old one or the new one, whole. */
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
