import { randomUUID } from 'node:crypto';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import type { Store } from '../../store/mongo/mongo.ts';

const TOOLS = ['hash-text', 'ping', 'web-scrape', 'website-screenshot', 'qr-generate', 'dns-lookup'];
const PRICES = [1, 2, 3, 25, 1, 1];
const KEYS = ['key_a', 'key_b', 'key_c', null];
const PERIOD_MS = 89 * 86_400_000;
const BATCH = 10_000;

/** A call that has ended; the numbers spread calls over the last 89 days, tools, keys, outcomes and durations. */
function callRow(accountId: string, number: number, count: number): CallDoc {
  const tool = number % TOOLS.length;
  const cost = PRICES[tool] ?? 1;
  const failed = number % 17 === 0;
  const keyId = KEYS[number % KEYS.length] ?? null;
  const startedAt = new Date(Date.now() - 3_600_000 - Math.floor((number / count) * PERIOD_MS));
  return {
    _id: randomUUID(),
    accountId,
    keyId,
    keyPrefix: keyId === null ? null : `ut_${keyId}`,
    tool: TOOLS[tool] ?? '',
    cost,
    charged: failed ? 0 : cost,
    state: failed ? 'refunded' : 'charged',
    code: failed ? 'target_timeout' : null,
    requestId: `req_${randomUUID()}`,
    startedAt,
    touchedAt: startedAt,
    finishedAt: new Date(startedAt.getTime() + 20 + ((number * 7919) % 1500) * (tool + 1)),
    actsOnWorld: false,
  };
}

/** Inserts calls of the last 89 days. */
export async function insertManyCalls({ calls }: Store, accountId: string, count: number): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, count - first) }, (_, i) =>
      callRow(accountId, first + i, count),
    );
    await calls.insertMany(rows, { ordered: false });
  }
}
