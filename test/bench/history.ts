import { randomUUID } from 'node:crypto';
import type { EntryDoc } from '../../store/accounts/accountDocs.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { makeAccount, withStore } from '../helpers/account.ts';
import type { Stack } from '../helpers/stack.ts';
import { measure } from './measure.ts';
import type { Sizes } from './sizes.ts';

const BATCH = 10_000;
const CREDITS = 10_000;
/** Options for fast inserts of test data, which need not survive a crash of the database. */
export const FAST_INSERT = { ordered: false, writeConcern: { w: 1, journal: false } } as const;

interface HistoryRow {
  /** Numbers of earlier calls of the two accounts that are compared. */
  few: number;
  many: number;
  /** p50 of a call in each of the accounts, in milliseconds. */
  fewP50: number;
  manyP50: number;
  /** manyP50 / fewP50. */
  call: number;
  /** The same ratio for the request of the newest page of the call list and of the ledger. */
  callsPage: number;
  ledgerPage: number;
}

/**
 * Inserts charged calls and their ledger entries: one call per second until now, with sequence numbers from `firstSeq`.
 */
export async function seed(store: Store, accountId: string, count: number, firstSeq: number): Promise<void> {
  const start = Date.now() - count * 1000;
  for (let from = 0; from < count; from += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count - from) }, (_, i) => from + i);
    const ids = numbers.map(() => randomUUID());
    const at = (number: number) => new Date(start + number * 1000);
    const calls = numbers.map(
      (number, i): CallDoc => ({
        _id: ids[i] ?? '',
        accountId,
        keyId: null,
        keyPrefix: 'ut_000000',
        tool: 'hash-text',
        cost: 1,
        charged: 1,
        state: 'charged',
        code: null,
        requestId: `req_${number}`,
        startedAt: at(number),
        touchedAt: at(number),
        finishedAt: at(number),
        actsOnWorld: false,
      }),
    );
    const entries = numbers.map(
      (number, i): EntryDoc => ({
        _id: `ent_${randomUUID()}`,
        accountId,
        seq: firstSeq + number,
        at: at(number),
        type: 'charge',
        amount: -1,
        balanceAfter: count - number,
        callId: ids[i] ?? '',
        tool: 'hash-text',
        source: null,
        reference: null,
      }),
    );
    await store.calls.insertMany(calls, FAST_INSERT);
    await store.entries.insertMany(entries, FAST_INSERT);
  }
}

/**
 * Compares an account that has many earlier calls with one that has few: the duration of a call and of the newest
 * pages. The runs alternate.
 */
export async function benchHistory(
  stack: Stack,
  { rounds, few, many, requests }: Sizes['history'],
): Promise<HistoryRow> {
  const [young, old] = await Promise.all([makeAccount(stack, CREDITS), makeAccount(stack, CREDITS)]);
  await withStore(stack, async (store) => {
    // The inserted entries have negative sequence numbers, so that they precede the account's own entries.
    await seed(store, young.accountId, few, -few);
    await seed(store, old.accountId, many, -many);
  });
  const call = (account: typeof young) => () => account.call('hash-text', { text: 'x' }).then(drain);
  const page = (account: typeof young, path: string) => () => account.manage(path).then(drain);
  const drain = async (response: Response) => {
    if (!response.ok) throw new Error(`${response.status}`);
    await response.arrayBuffer();
  };
  const works = {
    call,
    calls: (account: typeof young) => page(account, '/api/v1/account/calls?limit=100'),
    ledger: (account: typeof young) => page(account, '/api/v1/account/ledger?limit=100'),
  };
  const median = (values: number[]) =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
  const compare = async (work: keyof typeof works) => {
    const [ofYoung, ofOld]: [number[], number[]] = [[], []];
    for (let round = 0; round <= rounds; round++) {
      const [a, b] = [
        await measure(requests, 1, works[work](young)),
        await measure(requests, 1, works[work](old)),
      ];
      if (round === 0) continue; // the first round is a warm-up
      ofYoung.push(a.p50);
      ofOld.push(b.p50);
    }
    return { few: median(ofYoung), many: median(ofOld) };
  };
  const calls = await compare('call');
  const list = await compare('calls');
  const ledger = await compare('ledger');
  return {
    few,
    many,
    fewP50: calls.few,
    manyP50: calls.many,
    call: calls.many / calls.few,
    callsPage: list.many / list.few,
    ledgerPage: ledger.many / ledger.few,
  };
}
