import { randomUUID } from 'node:crypto';
import type { ClientSession } from 'mongodb';
import type { Store } from '../mongo/mongo.ts';
import type { GrantOperator } from './accountDocs.ts';
import type { SecurityEventDoc, SecurityKind } from './securityDocs.ts';

/** The user, key or operator that caused a security event. */
export interface Actor {
  /** Client address; empty if unknown. */
  address: string;
  /** User-Agent header; empty if unknown. */
  userAgent: string;
  /** Prefix of the API key that authenticated the request; null for the owner's session and for operators. */
  keyPrefix: string | null;
  /** Whether an operator acted. */
  isOperator: boolean;
}

/** An operator, whose address and device owners do not see. */
export const OPERATOR: Actor = { address: '', userAgent: '', keyPrefix: null, isOperator: true };

interface SecurityEvent {
  accountId: string;
  kind: SecurityKind;
  actor: Actor;
  /** The object of the event, such as the name and prefix of a key. Never a secret. */
  subject?: string | undefined;
  /** The operator, for operators only; set for suspensions. */
  operator?: GrantOperator;
}

/**
 * Maximum number of entries of one kind in the security log of an account. Each kind has its own limit, so that many
 * entries of one kind, such as created keys, do not replace those of another, such as sign-ins.
 */
export const MAX_OF_KIND = 500;

/**
 * Adds an event to the security log of an account, and deletes the oldest entries of its kind above the limit.
 *
 * @param session transaction that makes the change which the event reports, if there is one
 */
export async function recordSecurity(
  { securityEvents }: Pick<Store, 'securityEvents'>,
  { accountId, kind, actor, subject = '', operator }: SecurityEvent,
  session?: ClientSession,
): Promise<void> {
  const event: SecurityEventDoc = {
    _id: `sec_${randomUUID()}`,
    accountId,
    at: new Date(),
    kind,
    subject,
    ...actor,
    ...(operator !== undefined && { operator }),
  };
  // Not part of the transaction: two that delete the same entries would conflict.
  const surplus = await securityEvents
    .find({ accountId, kind }, { projection: { _id: 1 } })
    .sort({ at: -1, _id: -1 })
    .skip(MAX_OF_KIND - 1)
    .toArray();
  if (surplus.length > 0) await securityEvents.deleteMany({ _id: { $in: surplus.map(({ _id }) => _id) } });
  await securityEvents.insertOne(event, { ...(session !== undefined && { session }) });
}
