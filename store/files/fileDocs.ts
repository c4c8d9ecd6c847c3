import type { IndexDescription } from 'mongodb';
import type { ResultReference } from '../calls/callDocs.ts';

/** An uploaded file. Its content is in pieces in `results`; see `fileContents.ts`. */
export interface FileDoc {
  _id: string;
  accountId: string;
  content: ResultReference;
  sizeBytes: number;
  /** In hexadecimal. */
  sha256: string;
  /** Media type by the content. */
  type: string;
  /** The name that the caller gave it: encrypted, in base64; null if it has none. */
  sealedName: string | null;
  expiresAt: Date;
}

export const FILE_INDEXES: IndexDescription[] = [
  // For the list. The size is part of it, so that what an account has stored is summed up from the index.
  { key: { accountId: 1, expiresAt: 1, _id: 1, sizeBytes: 1 } },
  { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
];
