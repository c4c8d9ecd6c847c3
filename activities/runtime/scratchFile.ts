import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Opens an empty, unlinked temporary file. The kernel deletes it when it is closed or the process ends. */
export async function openScratch(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'scratch-'));
  try {
    return await open(join(folder, 'file'), 'w+');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
