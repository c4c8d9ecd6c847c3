import type { FileRow } from '../../schemas/files.ts';
import type { FileDoc } from './fileDocs.ts';

/** A file as its owner sees it. */
export const fileRow = ({ _id: id, sizeBytes, sha256, type, expiresAt }: FileDoc): FileRow => ({
  id,
  sizeBytes,
  sha256,
  type,
  expiresAt: expiresAt.toISOString(),
});
