import { randomUUID } from 'node:crypto';
import type { ClientSession } from 'mongodb';
import type { Store } from './mongo.ts';
import type { SecurityEventDoc, SecurityKind } from './securityDocs.ts';

/** The user, key or operator that caused a security event. */
export interface Actor {
  /** Client address; empty if unknown. */
  address: string;
  /** User-Agent header; empty if unknown. */
  userAgent: string;
  /** Prefix of the API key that authenticated the request; null for the owner's session and for operators. */
  keyPrefix: string | null;
  /** Whether an operator acted at the command line. */
  isOperator: boolean;
}

/** An operator at the command line. */
export const OPERATOR: Actor = { address: '', userAgent: '', keyPrefix: null, isOperator: true };

export interface SecurityEvent {
  accountId: string;
  kind: SecurityKind;
  actor: Actor;
  /** The object of the event, such as the name and prefix of a key. Never a secret. */
  subject?: string | undefined;
}

/**
 * Adds an event to the security log of an account.
 *
 * @param session transaction that makes the change which the event reports, if there is one
 */
export async function recordSecurity(
  { securityEvents }: Pick<Store, 'securityEvents'>,
  { accountId, kind, actor, subject = '' }: SecurityEvent,
  session?: ClientSession,
): Promise<void> {
  const event: SecurityEventDoc = {
    _id: `sec_${randomUUID()}`,
    accountId,
    at: new Date(),
    kind,
    subject,
    ...actor,
  };
  await securityEvents.insertOne(event, { ...(session !== undefined && { session }) });
}
