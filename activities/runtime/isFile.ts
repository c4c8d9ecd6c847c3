import { stat } from 'node:fs/promises';

/** Whether the path is an existing regular file. Follows symbolic links. */
export const isFile = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => null))?.isFile() === true;
