import type { IndexDescription } from 'mongodb';
/** Limits that the owner sets for an API key; null: not limited. */
export interface KeyLimits {
  /** Credits that calls with the key may spend in a day (UTC). */
  dailyBudget: number | null;
  /** Credits that calls with the key may spend in a month (UTC). */
  monthlyBudget: number | null;
  /** Requests per second. The limit of the account applies as well. */
  rateLimit: number | null;
  /** IP addresses and CIDR blocks from which the key may be used. */
  allowedNetworks: string[] | null;
}

/** The OAuth client of a connection; see `connections.ts`. */
export interface ConnectedClient {
  id: string;
  /** Whether the client may also use the account tools, beside those of the scope `tools`. */
  account: boolean;
}

/** An API key, or a connection, which has the same limits. Limits that are missing do not apply. */
export interface ApiKeyDoc extends Partial<KeyLimits> {
  _id: string;
  accountId: string;
  /** Only for connections. */
  client?: ConnectedClient;
  /** SHA-256 of the key in hexadecimal; the key itself is not stored. A connection has its id here, which is no hash. */
  hash: string;
  prefix: string;
  /** The secret that the last rotation replaced, while it may still be valid. */
  previous?: { hash: string; prefix: string; expiresAt: Date };
  name: string;
  scope: 'tools' | 'account';
  /** Names of the tools that the key may call; null: all tools. */
  tools: string[] | null;
  createdAt: Date;
  lastUsedAt: Date | null;
  /** Client address of the last use. */
  lastUsedFrom?: string;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

export interface BucketDoc {
  _id: string;
  tokens: number;
  taken: boolean;
  at: Date;
}

export const API_KEY_INDEXES: IndexDescription[] = [
  { key: { hash: 1 }, unique: true },
  { key: { 'previous.hash': 1 }, partialFilterExpression: { 'previous.hash': { $exists: true } } },
  { key: { accountId: 1, createdAt: -1, _id: -1 } },
  {
    key: { accountId: 1, 'client.id': 1 },
    unique: true,
    partialFilterExpression: { 'client.id': { $exists: true }, revokedAt: { $type: 'null' } },
  },
  { key: { 'client.id': 1 }, partialFilterExpression: { 'client.id': { $exists: true } } },
  { key: { prefix: 1 } },
  { key: { 'previous.prefix': 1 }, partialFilterExpression: { 'previous.prefix': { $exists: true } } },
];

export const BUCKET_INDEXES: IndexDescription[] = [{ key: { at: 1 }, expireAfterSeconds: 3600 }];
