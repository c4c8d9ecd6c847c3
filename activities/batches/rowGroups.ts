import { availableParallelism } from 'node:os';
import { cancellationSignal, log } from '@temporalio/activity';
import pMap from 'p-map';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { reservationError } from '../../schemas/callErrors.ts';
import type { RateLimit } from '../../schemas/envValues.ts';
import { type ErrorCode, isErrorCode } from '../../schemas/errors.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import type { BatchRows } from '../../store/batches/batchRows.ts';
import type { RowInputs } from '../../store/batches/rowInputs.ts';
import { createCalls } from '../../store/calls/calls.ts';
import { createUnchargedCalls } from '../../store/calls/unchargedCalls.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import type { Jobs } from '../../store/jobs/jobs.ts';
import type { JobStorage } from '../../store/jobs/storedBytes.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import { budgetOf } from '../../store/ledger/keySpend.ts';
import type { Ledger, ReserveResult } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { ReceiptKeys } from '../../store/receipts/receiptKeys.ts';
import { NO_HOLD } from '../../workflows/contract.ts';
import type { ToolActivities } from '../../workflows/types.ts';
import { mayCall } from '../callJobs/jobRefusal.ts';
import { keepFiles, type StoredOutcomes, storeOutcomes } from '../callJobs/storeOutcome.ts';
import type { RowSteps } from './rowSteps.ts';
import { errorOutcome, type RowOutcome, runTool } from './rowTool.ts';
import { createTakeRows } from './takeRows.ts';

/** Services of a worker that the rows of chunks need. */
export interface RowServices {
  store: Store;
  keyring: Keyring;
  ledger: Pick<Ledger, 'reserve' | 'settle'>;
  receiptKeys: Pick<ReceiptKeys, 'digestKeysOf'>;
  /** Null: the installation has no limits. */
  limit: RateLimit | null;
  /** Whether this process runs synchronous calls, or has run one a moment ago. */
  runsCalls(): boolean;
  startCallback(id: string, accountId: string): Promise<void>;
  /** Starts the dispatch of events that a charge has fired. */
  startDispatch(accountId: string): Promise<void>;
  onError: (error: unknown) => void;
}

interface Dependencies {
  services: RowServices;
  tools: ToolActivities;
  jobs: Pick<Jobs, 'endAll'>;
  rows: Pick<BatchRows, 'claim' | 'release'>;
  storage: Pick<JobStorage, 'add'>;
  inputs: Pick<RowInputs, 'open'>;
  rowSteps: Pick<RowSteps, 'holdBack'>;
}

/** A row that runs. */
interface ReservedRow {
  row: JobDoc;
  /** Null if it ends without a call, because its key may not call the tool. */
  held: ReserveResult | null;
}

/** A row and how its call ends. */
interface TriedRow extends ReservedRow, RowOutcome {}

/** The two halves of the run of a group of rows, each step for all of them together. */
interface RowGroups {
  /**
   * Claims those of these rows that may run, records their calls and reserves their prices.
   *
   * @param key null: the batch has none
   */
  reserve(batch: BatchDoc, key: ApiKeyDoc | null, ids: readonly string[]): Promise<ReservedRow[]>;
  /** Runs the tools of rows, settles their calls, and ends the rows. */
  finish(accountId: string, reserved: readonly ReservedRow[]): Promise<void>;
}

/** Rows of a group whose tools run at the same time. */
const TOOLS = availableParallelism();

const hasResult = ({ outcome }: TriedRow): boolean => 'result' in outcome;

/** Whether an earlier attempt has charged a row, but not ended it. */
const isCharged = (held: ReserveResult | null): boolean => held?.status === 'closed' && held.charged === true;

/** Whether the time of a row is over, so that one with which its worker dies, or its tool fails, again and again ends at last. */
const isLate = ({ startedAt, policy }: JobDoc): boolean =>
  startedAt !== null && Date.now() > startedAt.getTime() + policy.deadlineMs;

/** Creates the run of groups. It can be repeated: what an earlier attempt has done is found by the ids of the calls. */
export function createRowGroups({
  services,
  tools,
  jobs,
  rows,
  storage,
  inputs,
  rowSteps,
}: Dependencies): RowGroups {
  const { store, keyring, ledger, receiptKeys, onError } = services;
  const calls = createCalls(store);
  const take = createTakeRows({ store, rows });
  const paybacks = createPaybacks({ store, ledger, accounts: createAccounts(store) });
  const uncharged = createUnchargedCalls(store, services.limit, onError);

  const claimCalls = (claimed: readonly JobDoc[]): Promise<void> =>
    calls.claimAll(
      claimed.map(({ _id, accountId, keyId, keyPrefix, tool, requestId, policy }) => ({
        _id,
        accountId,
        keyId,
        keyPrefix,
        tool,
        cost: policy.price,
        requestId,
        actsOnWorld: policy.actsOnWorld,
        timing: {},
      })),
    );

  function reserveOne(row: JobDoc, key: ApiKeyDoc | null): Promise<ReserveResult> {
    const { _id: callId, accountId, tool, policy } = row;
    const { price, maxRunning } = policy;
    const budget = key === null ? {} : { key: budgetOf(key) };
    return ledger.reserve({ callId, accountId, tool, pool: 'jobs', price, maxRunning, ...budget });
  }

  /** Runs the tool of a row if its price is reserved. */
  async function run({ row, held }: ReservedRow): Promise<TriedRow> {
    const failed = (code: ErrorCode): TriedRow => ({ row, held, outcome: errorOutcome(code) });
    if (held === null) return failed('tool_not_allowed');
    if (!isCharged(held)) {
      if (held.status === 'closed') return failed(isErrorCode(held.code) ? held.code : 'internal');
      if (held.status !== 'held')
        return { row, held, outcome: { error: reservationError(held, row.policy.price) } };
      if (isLate(row)) return failed('deadline_exceeded');
    }
    return {
      row,
      held,
      ...(await runTool(tools, row, inputs.open(row) ?? {}, receiptKeys.digestKeysOf(row._id))),
    };
  }

  /** Charges or refunds the call of a row. @returns the row with the outcome that is on record, and whether events were fired */
  async function settle(tried: TriedRow): Promise<{ tried: TriedRow; fired: boolean }> {
    const { row, held, outcome, times, digests } = tried;
    const { _id: callId, accountId } = row;
    if (held === null) return { tried, fired: false };
    if ('error' in outcome) {
      const { code } = outcome.error;
      const refund = { callId, accountId, wanted: 'refunded', code, release: true, times } as const;
      const { state } = await ledger.settle(refund);
      // Another attempt has charged it. The next one finds that, and runs the tool again for the output.
      if (state === 'charged') {
        if (!isLate(row)) throw new Error(`call ${callId} is charged, but its tool failed: ${code}`);
        const call = await calls.find(callId);
        if (call !== null) await paybacks.settle(call, code);
      }
      return { tried, fired: false };
    }
    const nonce = held.status === 'held' ? held.nonce : NO_HOLD;
    const { state, fired } = await ledger.settle({
      callId,
      accountId,
      wanted: 'charged',
      nonce,
      times,
      digests,
    });
    if (state === 'charged') return { tried, fired: fired === true };
    return { tried: { row, held, outcome: errorOutcome('deadline_exceeded') }, fired: false };
  }

  /** Counts what rows have stored and how they have ended. Their end does not depend on it. */
  async function tidy(accountId: string, { ends, sizes }: StoredOutcomes): Promise<void> {
    const kilobytes = sizes.reduce((sum, bytes) => sum + Math.ceil(bytes / 1024), 0);
    await storage.add(accountId, kilobytes * 1024);
    const failures = ends.filter(({ end }) => end.state !== 'succeeded' && end.code !== 'internal');
    if (failures.length > 0) await uncharged.count(accountId, failures.length);
  }

  return {
    async reserve(batch, key, ids) {
      const { fresh, left } = await take(batch, key, ids);
      const forbidden = [...left, ...fresh].filter(({ tool }) => !mayCall(key, tool));
      // Calls that an earlier attempt has recorded are completed, though their key was changed since.
      const begun = await Promise.all(forbidden.map(({ _id }) => calls.find(_id)));
      const refused = forbidden.filter((_row, index) => begun[index] === null);
      const allowed = [...left, ...fresh].filter((row) => !refused.includes(row));
      await claimCalls(allowed);
      const reserved = allowed.map(async (row) => ({ row, held: await reserveOne(row, key) }));
      return [...(await Promise.all(reserved)), ...refused.map((row) => ({ row, held: null }))];
    },

    async finish(accountId, reserved) {
      const tried = await pMap(reserved, run, { concurrency: TOOLS });
      cancellationSignal().throwIfAborted();
      // No call is charged before its output is stored.
      const outputs = await storeOutcomes(store, keyring, tried.filter(hasResult));
      const settled = await Promise.all(tried.map(settle));
      const failed: TriedRow[] = [];
      for (const { tried: each } of settled)
        if ('error' in each.outcome && !(await rowSteps.holdBack(each.row, each.outcome.error.code)))
          failed.push(each);
      const errors = await storeOutcomes(store, keyring, failed);
      const charged = new Set(settled.flatMap(({ tried: it }) => (hasResult(it) ? [it.row._id] : [])));
      const ends = [...outputs.ends.filter(({ id }) => charged.has(id)), ...errors.ends];
      await keepFiles(
        store,
        storage,
        accountId,
        settled.map(({ tried: { outcome } }) => outcome),
      );
      await jobs.endAll(ends);
      await tidy(accountId, { ends, sizes: [...outputs.sizes, ...errors.sizes] }).catch((error) =>
        log.warn('could not tidy up after rows', { error }),
      );
      if (settled.some(({ fired }) => fired)) await services.startDispatch(accountId).catch(onError);
    },
  };
}
