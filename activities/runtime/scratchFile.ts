import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An empty temporary file without a name: it is gone when it is closed, and with the process, however that ends. */
export async function openScratch(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'scratch-'));
  try {
    return await open(join(folder, 'file'), 'w+');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
