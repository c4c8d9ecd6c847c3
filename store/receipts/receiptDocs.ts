import type { IndexDescription } from 'mongodb';

/**
 * A key that signs the receipts of calls. The document's id is the thumbprint of its public key (RFC 7638), which receipts
 * name as `kid`. Keys are never deleted: the digests of calls need them.
 */
export interface ReceiptKeyDoc {
  _id: string;
  /** Position among all keys, from 1. */
  number: number;
  /** The public key: `x` of its JWK (RFC 8037). */
  x: string;
  /** The private key, encrypted, in base64. */
  sealed: string;
  createdAt: Date;
  /** Since when it neither signs nor is published; null: it is in use. */
  revokedAt: Date | null;
}

export const RECEIPT_KEY_INDEXES: IndexDescription[] = [{ key: { number: 1 }, unique: true }];
