import type {
  AccountRow,
  CallRow,
  DeliveryRow,
  EntryRow,
  EventRow,
  KeyRow,
  RefusalRow,
} from '../../schemas/accountRows.ts';
import { EVENT_KINDS, isTestEvent, LOW_CREDITS } from '../../schemas/events.ts';
import type { AttemptRow, WebhookRow } from '../../schemas/webhookRows.ts';
import type { Account, EntryDoc } from '../../store/accounts/accountDocs.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import type { RefusalDoc } from '../../store/calls/refusalDocs.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import { spentOf } from '../../store/ledger/keySpend.ts';
import { deliveryId } from '../../store/webhooks/events.ts';
import type {
  AttemptContentDoc,
  DeliveryAttemptDoc,
  DeliveryDoc,
  EventDoc,
  StoredHeader,
  WebhookEndpointDoc,
} from '../../store/webhooks/webhookDocs.ts';
import { phasesOf } from './callPhases.ts';

const iso = (date: Date | null): string | null => date?.toISOString() ?? null;

export const accountRow = (account: Account): AccountRow => ({
  id: account._id,
  email: account.email,
  balance: account.balance,
  reserved: account.reserved,
  available: account.balance - account.reserved,
  lowThreshold: LOW_CREDITS,
  monthlyAllowance: account.monthlyAllowance,
});

export const callRow = (call: CallDoc): CallRow => ({
  id: call._id,
  tool: call.tool,
  cost: call.cost,
  charged: call.charged,
  state: call.state,
  code: call.code,
  startedAt: call.startedAt.toISOString(),
  // Start and end come from the clocks of two machines. The difference of these clocks can exceed the duration of a
  // short call.
  durationMs:
    call.finishedAt === null ? null : Math.max(0, call.finishedAt.getTime() - call.startedAt.getTime()),
  keyPrefix: call.keyPrefix,
  phases: phasesOf(call),
  resultFrom: call.reused?.callId ?? null,
});

export const refusalRow = (refusal: RefusalDoc): RefusalRow => ({
  id: refusal._id,
  code: refusal.code,
  tool: refusal.tool,
  keyPrefix: refusal.keyPrefix,
  count: refusal.count,
  firstAt: refusal.firstAt.toISOString(),
  lastAt: refusal.lastAt.toISOString(),
  faults: refusal.faults,
  requestIds: refusal.requestIds,
});

export const entryRow = (entry: EntryDoc): EntryRow => ({
  id: entry._id,
  at: entry.at.toISOString(),
  type: entry.type,
  amount: entry.amount,
  balanceAfter: entry.balanceAfter,
  callId: entry.callId,
  tool: entry.tool,
  source: entry.source,
  reference: entry.reference,
});

export function keyRow(key: ApiKeyDoc, { keySpend }: Pick<Account, 'keySpend'>, now = new Date()): KeyRow {
  const { previous } = key;
  const { inDay, inMonth } = spentOf(keySpend?.[key._id], now);
  return {
    id: key._id,
    name: key.name,
    prefix: key.prefix,
    scopes: [key.scope],
    tools: key.tools,
    createdAt: key.createdAt.toISOString(),
    lastUsedAt: iso(key.lastUsedAt),
    lastUsedFrom: key.lastUsedFrom ?? null,
    expiresAt: iso(key.expiresAt),
    dailyBudget: key.dailyBudget ?? null,
    monthlyBudget: key.monthlyBudget ?? null,
    rateLimit: key.rateLimit ?? null,
    allowedNetworks: key.allowedNetworks ?? null,
    spentToday: inDay,
    spentThisMonth: inMonth,
    previousSecret:
      previous === undefined || previous.expiresAt <= now
        ? null
        : { prefix: previous.prefix, expiresAt: previous.expiresAt.toISOString() },
    revokedAt: iso(key.revokedAt),
  };
}

export const deliveryRow = (delivery: DeliveryDoc): DeliveryRow => ({
  id: delivery._id,
  endpointId: delivery.endpointId,
  state: delivery.state,
  attempts: delivery.attempts,
  nextAt: iso(delivery.nextAt),
});

export const eventRow = (event: EventDoc, deliveries: readonly DeliveryDoc[]): EventRow => ({
  id: event._id,
  event: event.event,
  createdAt: event.createdAt.toISOString(),
  data: event.data,
  test: isTestEvent({ id: event._id, event: event.event }),
  deliveries: deliveries.map(deliveryRow),
});

/** Returns when the new secret becomes active; null if there is none or it is already active. */
function rotationEndsAt({ next }: WebhookEndpointDoc): string | null {
  return next === null || next.from.getTime() <= Date.now() ? null : next.from.toISOString();
}

export const webhookRow = (endpoint: WebhookEndpointDoc): WebhookRow => ({
  id: endpoint._id,
  url: endpoint.url,
  events: endpoint.events ?? [...EVENT_KINDS],
  state: endpoint.state,
  consecutiveFailures: endpoint.failures,
  createdAt: endpoint.createdAt.toISOString(),
  disabledAt: iso(endpoint.disabledAt),
  rotationEndsAt: rotationEndsAt(endpoint),
});

const headerRows = (headers: readonly StoredHeader[] | null = null) =>
  headers?.map(([name, value]) => ({ name, value })) ?? null;

/** Converts a delivery attempt to a row of the Account API. @param content its request and response, if they are still kept */
export const attemptRow = (
  attempt: DeliveryAttemptDoc,
  content: AttemptContentDoc | undefined,
): AttemptRow => ({
  id: attempt._id,
  deliveryId: deliveryId(attempt.eventId, attempt.endpointId),
  eventId: attempt.eventId,
  event: attempt.event,
  attempt: attempt.attempt,
  at: attempt.at.toISOString(),
  statusCode: attempt.statusCode,
  durationMs: attempt.durationMs,
  error: attempt.error,
  responseBody: content?.body ?? null,
  url: content?.url ?? null,
  requestHeaders: headerRows(content?.requestHeaders),
  responseHeaders: headerRows(content?.responseHeaders),
});
