import { randomUUID } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';

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
