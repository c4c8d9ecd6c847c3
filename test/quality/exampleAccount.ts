import { randomUUID } from 'node:crypto';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import type { RefusalDoc } from '../../store/calls/refusalDocs.ts';
import { withStore } from '../helpers/account.ts';
import { ledTo, uploadCsv, type Visitor, visitor } from '../helpers/dashboard.ts';
import type { Receiver } from '../helpers/receiver.ts';
import { signUp } from '../helpers/session.ts';
import type { Stack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const DAY_MS = 86_400_000;
/** Tools of the invented calls, their prices and their durations in milliseconds. */
const HISTORY = [
  { tool: 'website-screenshot', cost: 25, ms: 4200 },
  { tool: 'dns-lookup', cost: 1, ms: 90 },
  { tool: 'word-to-pdf', cost: 15, ms: 2600 },
  { tool: 'hash-text', cost: 1, ms: 40 },
];

/** A call that ended some days ago. Every ninth call failed. */
function pastCall(accountId: string, number: number): CallDoc {
  const { tool, cost, ms } = HISTORY[number % HISTORY.length] ?? { tool: 'ping', cost: 2, ms: 50 };
  const failed = number % 9 === 4;
  const startedAt = new Date(Date.now() - (1 + (number % 29)) * DAY_MS);
  return {
    _id: randomUUID(),
    accountId,
    keyId: null,
    keyPrefix: null,
    tool,
    cost,
    charged: failed ? 0 : cost,
    state: failed ? 'refunded' : 'charged',
    code: failed ? 'target_unreachable' : null,
    requestId: `req_${randomUUID()}`,
    startedAt,
    touchedAt: startedAt,
    finishedAt: new Date(startedAt.getTime() + ms * (1 + (number % 5) / 10)),
    actsOnWorld: false,
  };
}

/** Refused requests of today. */
const REFUSED = [
  { code: 'invalid_input', tool: 'website-screenshot', count: 14 },
  { code: 'rate_limited', tool: 'hash-text', count: 212 },
  { code: 'invalid_api_key', tool: null, count: 3 },
] as const;

function refusal(accountId: string, { code, tool, count }: (typeof REFUSED)[number]): RefusalDoc {
  const lastAt = new Date(Date.now() - count * 10_000);
  return {
    _id: randomUUID(),
    accountId,
    firstAt: new Date(lastAt.getTime() - 600_000),
    lastAt,
    count,
    keyId: null,
    keyPrefix: 'ut_4fQ9xa',
    tool,
    code,
    faults: code === 'invalid_input' ? [{ pointer: '/url', message: 'must be an http or https URL' }] : [],
    requestIds: [`req_${randomUUID()}`],
  };
}

/** An account in use, with the paths of pages about single rows. */
interface ExampleAccount {
  owner: Visitor;
  /** Without `/dashboard`. */
  paths: Record<'call' | 'batch' | 'newBatch' | 'row' | 'key' | 'webhook' | 'delivery' | 'receipt', string>;
}

const PAYMENT = 'test_';

/** Creates a batch of which some rows are refused, and one that is not started. Returns their paths without `/dashboard`. */
async function createBatches(stack: Stack, owner: Visitor): Promise<readonly [string, string]> {
  const rows = Array.from({ length: 40 }, (_, row) =>
    row % 9 === 4
      ? `table-${row},${'a'.repeat(2900)},H`
      : `table-${row},https://example.com/menu?table=${row},M`,
  );
  const csv = `id,text,errorCorrection\n${rows.join('\n')}\n`;
  const batch = ledTo(await uploadCsv(stack, owner, 'qr-generate', csv));
  await owner.post(`${batch}/resume`, { maxCredits: '' });
  return [batch, ledTo(await uploadCsv(stack, owner, 'qr-generate', csv))];
}

/** Creates an account with calls of a month, batches, keys, purchases and a webhook endpoint with failed deliveries. */
export async function createExampleAccount(stack: Stack, receiver: Receiver): Promise<ExampleAccount> {
  const credentials = { email: 'jane@example.com', password: randomUUID() };
  const owner = visitor(stack, await signUp(stack.baseUrl, credentials), credentials);
  const [reference, purchase] = [randomUUID(), randomUUID()];
  const webhookId = `whe_${reference}`;
  const events: [string, string][] = ['credits.low', 'credits.granted', 'api_key.created'].map((kind) => [
    'events',
    kind,
  ]);
  await owner.post('/webhooks', [['url', receiver.url], ['reference', reference], ...events]);
  await owner.post('/credits/test-checkout', { pack: '1000', reference: purchase });
  await owner.post('/keys', { name: 'website', scope: 'tools', dailyBudget: '100', monthlyBudget: '2000' });
  receiver.answer(() => ({ status: 503, body: '{"error":"The database is read-only."}' }));
  await owner.post('/keys', { name: 'nightly report', scope: 'tools' });
  await owner.post('/tools/hash-text', { text: 'Hello, world', algorithm: 'sha256' });
  const [batch, newBatch] = await createBatches(stack, owner);
  return withStore(stack, async (store) => {
    const account = await store.accounts.findOne({ email: credentials.email });
    if (account === null) throw new Error('there is no account');
    const of = { accountId: account._id };
    await store.calls.insertMany(Array.from({ length: 60 }, (_, number) => pastCall(account._id, number)));
    await store.refusals.insertMany(REFUSED.map((row) => refusal(account._id, row)));
    const day = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS);
    await store.refusalDays.insertOne({ _id: randomUUID(), ...of, day, count: 229 });
    await until('a delivery has failed', () =>
      store.webhookEndpoints.findOne({ _id: webhookId, failures: { $gt: 0 } }),
    );
    const batchId = batch.replace('/batches/', '');
    await until('the batch has ended', () => store.batches.findOne({ _id: batchId, state: 'completed' }));
    const [call, row, key, delivery] = await Promise.all([
      store.calls.findOne({ ...of, tool: 'hash-text', state: 'charged' }, { sort: { startedAt: -1 } }),
      store.jobs.findOne({ batchId, state: 'succeeded' }),
      store.apiKeys.findOne({ ...of, name: 'website' }),
      store.deliveries.findOne({ endpointId: webhookId, attempts: { $gt: 0 } }, { sort: { _id: -1 } }),
    ]);
    return {
      owner,
      paths: {
        call: `/calls/${call?._id}`,
        batch,
        newBatch,
        row: `/jobs/${row?._id}`,
        key: `/keys/${key?._id}`,
        webhook: `/webhooks/${webhookId}`,
        delivery: `/webhooks/${webhookId}/deliveries/${delivery?._id}`,
        receipt: `/credits/receipts/${PAYMENT}${purchase}`,
      },
    };
  });
}
