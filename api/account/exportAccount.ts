import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Account, GrantDoc } from '../../store/accounts/accountDocs.ts';
import { type AccountCursors, openAccountCursors } from '../../store/accounts/accountExport.ts';
import { createLists } from '../../store/accounts/lists.ts';
import { createPasskeys } from '../../store/accounts/passkeys.ts';
import type { SecurityEventDoc } from '../../store/accounts/securityDocs.ts';
import { callbackRow } from '../../store/batches/batchCallbacks.ts';
import { batchRow } from '../../store/batches/batchRow.ts';
import type { InvoiceDoc } from '../../store/billing/invoiceDocs.ts';
import type { PaymentDoc } from '../../store/billing/paymentDocs.ts';
import type { TopUpDoc } from '../../store/billing/topUpDocs.ts';
import type { AutoTopUpDoc, TopUpRunDoc } from '../../store/billing/topUpRunDocs.ts';
import type { CallContents, KeptContent } from '../../store/calls/callContents.ts';
import { fileRow } from '../../store/files/fileRow.ts';
import type { Files } from '../../store/files/files.ts';
import { jobRow } from '../../store/jobs/jobRow.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { ScheduleDoc } from '../../store/schedules/scheduleDocs.ts';
import { runRow, scheduleRow } from '../../store/schedules/scheduleRow.ts';
import { createDeliveryAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import type { Auth, User } from '../auth/auth.ts';
import {
  accountRow,
  attemptRow,
  callRow,
  entryRow,
  eventRow,
  keyRow,
  refusalRow,
  webhookRow,
} from './rows.ts';

/**
 * Exports everything that is stored about an account and its user, except secrets, as lines of JSON. The field `record` of
 * each line says what it describes.
 */
export type ExportAccount = (account: Account, user: User) => AsyncGenerator<string>;

/** Number of rows whose related documents are read at once. */
const BATCH = 50;

type Row = Record<string, unknown>;

const line = (record: string, row: Row): string => `${JSON.stringify({ record, ...row })}\n`;

/** Collects items in groups of at most `BATCH`. */
async function* batches<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function* lines<T>(
  record: string,
  items: AsyncIterable<T>,
  row: (item: T) => Row,
): AsyncGenerator<string> {
  for await (const item of items) yield line(record, row(item));
}

/** The reason of an adjustment, and who made it, are for operators only. */
const grantRow = ({ _id, accountId, reason, operator, ...grant }: GrantDoc): Row => ({
  ...grant,
  byOperator: operator !== undefined,
});
function scheduleOf(keyring: Keyring, schedule: ScheduleDoc): Row {
  const { cost: _cost, nextAt: _nextAt, ...row } = scheduleRow(keyring, schedule, () => 0, null);
  return row;
}
const paymentRow = ({ _id: id, accountId, forgetAt, ...payment }: PaymentDoc): Row => ({ id, ...payment });
const topUpRow = ({ _id: challengeId, accountId, proof, forgetAt, ...topUp }: TopUpDoc): Row => ({
  challengeId,
  ...topUp,
});
const invoiceRow = ({ _id: number, accountId, ...invoice }: InvoiceDoc): Row => ({ number, ...invoice });
const autoTopUpRow = ({ _id, reference, decided, ...settings }: AutoTopUpDoc): Row => ({ ...settings });
const topUpRunRow = ({ _id: id, accountId, tries, dueAt, ...topUp }: TopUpRunDoc): Row => ({ id, ...topUp });
const securityRow = ({ _id: id, accountId, operator, ...event }: SecurityEventDoc): Row => ({ id, ...event });

const contentRow = (callId: string, { input, output, expiresAt }: KeptContent): Row => ({
  callId,
  input: 'json' in input ? JSON.parse(input.json) : null,
  output: 'json' in output ? JSON.parse(output.json) : null,
  expiresAt,
});

/** The kept input and output of calls. */
async function* contentLines(
  accountId: string,
  cursors: AccountCursors,
  contents: Pick<CallContents, 'find'>,
): AsyncGenerator<string> {
  for await (const { _id: callId } of cursors.contents()) {
    const content = await contents.find(accountId, callId);
    if (content !== null) yield line('callContent', contentRow(callId, content));
  }
}

/** Events with their deliveries, then the attempts of all their endpoints, including deleted ones. */
async function* eventLines(store: Store, cursors: AccountCursors): AsyncGenerator<string> {
  const [lists, attempts] = [createLists(store), createDeliveryAttempts(store)];
  const endpointIds = new Set<string>();
  for await (const events of batches(cursors.events())) {
    const deliveries = await lists.deliveries(events.map(({ _id }) => _id));
    for (const event of events) {
      const own = deliveries.get(event._id) ?? [];
      for (const { endpointId } of own) endpointIds.add(endpointId);
      yield line('event', { ...eventRow(event, own) });
    }
  }
  for (const endpointId of endpointIds)
    for await (const group of batches(cursors.attempts(endpointId))) {
      const contents = await attempts.contents(group.map(({ _id }) => _id));
      for (const attempt of group)
        yield line('attempt', { endpointId, ...attemptRow(attempt, contents.get(attempt._id)) });
    }
}

/**
 * Creates the export of accounts. It reads from cursors as fast as the client reads the lines, so that its memory does not
 * grow with the account.
 */
export const createExportAccount = (
  store: Store,
  auth: Pick<Auth, 'sessions'>,
  contents: Pick<CallContents, 'find'>,
  files: Pick<Files, 'nameOf'>,
  keyring: Keyring,
): ExportAccount =>
  async function* exportAccount(account, user) {
    const cursors = await openAccountCursors(store, account._id);
    const { email, name, role, hasTwoFactor } = user;
    const { createdAt, billing = null } = account;
    yield line('account', { ...accountRow(account), createdAt, billing });
    yield line('user', { email, name, role, hasTwoFactor });
    for (const { userAgent, address, createdAt, lastUsedAt } of await auth.sessions(user.id))
      yield line('session', { userAgent, address, createdAt, lastUsedAt });
    for (const { name, createdAt, lastUsedAt } of await createPasskeys(store).list(user.id))
      yield line('passkey', { name, createdAt, lastUsedAt });
    yield* lines('key', cursors.keys(), (key) => ({ ...keyRow(key, account) }));
    yield* lines('webhook', cursors.webhooks(), (endpoint) => ({ ...webhookRow(endpoint) }));
    yield* lines('payment', cursors.payments(), paymentRow);
    yield* lines('topUp', cursors.topUps(), topUpRow);
    yield* lines('invoice', cursors.invoices(), invoiceRow);
    yield* lines('autoTopUp', cursors.autoTopUp(), autoTopUpRow);
    yield* lines('topUpRun', cursors.topUpRuns(), topUpRunRow);
    yield* lines('grant', cursors.grants(), grantRow);
    yield* lines('ledgerEntry', cursors.entries(), (entry) => ({ ...entryRow(entry) }));
    yield* lines('call', cursors.calls(), (call) => ({
      ...callRow(call),
      requestId: call.requestId,
      keyId: call.keyId,
      idempotencyKey: call.idempotency?.key ?? null,
    }));
    yield* lines('file', cursors.files(), (file) => ({ ...fileRow(file, files.nameOf(file)) }));
    yield* lines('job', cursors.jobs(), (job) => ({ ...jobRow(job) }));
    yield* lines('batch', cursors.batches(), (batch) => ({ ...batchRow(batch) }));
    yield* lines('batchCallback', cursors.batchCallbacks(), (callback) => ({
      batchId: callback.batchId,
      ...callbackRow(callback),
    }));
    yield* lines('schedule', cursors.schedules(), (schedule) => scheduleOf(keyring, schedule));
    yield* lines('scheduleRun', cursors.scheduleRuns(), (run) => ({ ...runRow(keyring, run) }));
    yield* lines('scheduleCallback', cursors.scheduleCallbacks(), (callback) => ({
      scheduleId: callback.scheduleId,
      ...callbackRow(callback),
    }));
    yield* lines('refusal', cursors.refusals(), (refusal) => ({ ...refusalRow(refusal) }));
    yield* contentLines(account._id, cursors, contents);
    yield* eventLines(store, cursors);
    yield* lines('securityEvent', cursors.securityLog(), securityRow);
  };
