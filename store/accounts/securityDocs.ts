import type { IndexDescription, ObjectId } from 'mongodb';
import type { GrantOperator } from './accountDocs.ts';

/** Kinds of events in the security log. */
const SECURITY_KINDS = [
  'signed_in',
  'signed_out',
  'second_factor_failed',
  'session_ended',
  'sessions_ended',
  'password_changed',
  'password_reset',
  'name_changed',
  'email_change_requested',
  'email_changed',
  'two_factor_enabled',
  'two_factor_disabled',
  'backup_codes_renewed',
  'passkey_added',
  'passkey_renamed',
  'passkey_removed',
  'key_created',
  'key_changed',
  'key_rotated',
  'key_revoked',
  'webhook_secret_rotated',
  'webhook_secret_activated',
  'data_exported',
  'account_suspended',
  'suspension_lifted',
  'account_closed',
] as const;

export type SecurityKind = (typeof SECURITY_KINDS)[number];

/** An entry of an account's security log, which contains no secrets; see `securityLog.ts` for the fields. */
export interface SecurityEventDoc {
  _id: string;
  accountId: string;
  at: Date;
  kind: SecurityKind;
  subject: string;
  address: string;
  userAgent: string;
  keyPrefix: string | null;
  isOperator: boolean;
  /** The operator who suspended the account or lifted the suspension; for operators only. */
  operator?: GrantOperator;
}

/** A passkey of a user. better-auth writes it, with its public key; see `passkeys.ts`. */
export interface PasskeyDoc {
  _id: ObjectId;
  userId: ObjectId;
  /** Name that the owner chose. */
  name: string;
  /** Id by which the authenticator knows the passkey. */
  credentialID: string;
  createdAt: Date;
  /** Time of the last sign-in; missing if there was none. */
  lastUsedAt?: Date;
}

/** A code of an authenticator app that was used; see `usedCodes.ts`. */
export interface UsedCodeDoc {
  _id: string;
  at: Date;
}

/** A master key that has been used with this database; see `masterKeys.ts`. */
export interface MasterKeyDoc {
  /** Id of the key. */
  _id: string;
  mac: string;
}

/** Retention of the security log in seconds: one year. */
const SECURITY_EVENT_SECONDS = 365 * 86_400;

export const SECURITY_EVENT_INDEXES: IndexDescription[] = [
  { key: { accountId: 1, at: -1, _id: -1 } },
  { key: { accountId: 1, kind: 1, at: -1, _id: -1 } },
  { key: { at: 1 }, expireAfterSeconds: SECURITY_EVENT_SECONDS },
];

/** better-auth uses this name too. The index must exist before the first passkey: no two may have the same id. */
export const PASSKEY_INDEXES: IndexDescription[] = [
  { key: { credentialID: 1 }, unique: true, name: 'passkeys_credentialID_uidx' },
];

/** Retention of used codes in seconds. better-auth accepts a code for at most 90 seconds. */
const USED_CODE_SECONDS = 120;

export const USED_CODE_INDEXES: IndexDescription[] = [
  { key: { at: 1 }, expireAfterSeconds: USED_CODE_SECONDS },
];
