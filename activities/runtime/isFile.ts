import { stat } from 'node:fs/promises';

/** Whether a file is there, behind links too. */
export const isFile = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => null))?.isFile() === true;
