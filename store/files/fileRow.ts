import type { FileRow } from '../../schemas/files.ts';
import type { FileDoc } from './fileDocs.ts';

/** A file as its owner sees it. @param name that the caller gave it; null: none */
export const fileRow = (
  { _id: id, sizeBytes, sha256, type, expiresAt }: FileDoc,
  name: string | null,
): FileRow => ({
  id,
  name,
  sizeBytes,
  sha256,
  type,
  expiresAt: expiresAt.toISOString(),
});
