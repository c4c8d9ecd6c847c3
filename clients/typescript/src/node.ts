import { stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { FileResult } from './result.ts';

/**
 * Saves the file of a result.
 *
 * @param path path of the new file, or of a folder, where the file gets the name that the service suggests
 * @returns the path of the file
 */
export async function saveFile({ file }: Pick<FileResult<unknown>, 'file'>, path: string): Promise<string> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const target = isFolder ? join(path, basename(file.name)) : path;
  await writeFile(target, file.bytes());
  return target;
}
