import { Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { createRunRows } from '../activities/batches/runRows.ts';
import { startCallback } from '../activities/callJobs/startCallback.ts';
import { createLedgerActivities } from '../activities/ledger/ledgerActivities.ts';
import { createWholeCall, reservationOf } from '../activities/runtime/wholeCall.ts';
import { callOptions, openCallStart, sealCallResult } from '../platform/temporal/callStart.ts';
import { startDispatch } from '../platform/temporal/startDispatch.ts';
import { dataConverter } from '../platform/temporal/temporal.ts';
import { traceWorkflowStarts } from '../platform/temporal/temporalTracing.ts';
import { contextOf, inContext } from '../platform/trace.ts';
import type { Pool } from '../schemas/pools.ts';
import { createLedger, type Ledger, type ReserveResult } from '../store/ledger/ledger.ts';
import { untilStoreAnswers } from '../store/mongo/connectStore.ts';
import { openReceiptKeys } from '../store/receipts/receiptKeys.ts';
import { toolQueue, WORKFLOWS } from '../workflows/contract.ts';
import type {
  CallRequest,
  CallResult,
  LedgerActivities,
  ToolActivities,
  ToolAnswer,
} from '../workflows/types.ts';
import { loadWorkflowBundle } from './bundle.ts';
import type { WorkerCore } from './core.ts';
import type { FastLane } from './pools.ts';

/** Time limit in milliseconds for the start of a workflow. After it, the API process starts the workflow itself. */
const START_MS = 2000;

/** Milliseconds after a call in which its caller can be expected to send the next one. */
const NEXT_CALL_MS = 1000;

interface Waiting {
  /** The latest answer of the call's tool. */
  answer?: ToolAnswer;
  resolve(result: CallResult | null): void;
}

/**
 * Observes the calls that this process runs, so that their results reach the API processes that wait for them without a
 * request to Temporal. A result is passed on when the charge is on record, and before the workflow has ended.
 */
function createResultWatch() {
  const waiting = new Map<string, Waiting>();
  let lastEnd = Number.NEGATIVE_INFINITY;

  /** Returns the result of a call; null once it is clear that the call ends in another way, or the signal aborts. */
  function resultOf(callId: string, gone: AbortSignal): Promise<CallResult | null> {
    const { promise, resolve } = Promise.withResolvers<CallResult | null>();
    const own = { resolve };
    waiting.get(callId)?.resolve(null);
    waiting.set(callId, own);
    gone.addEventListener('abort', () => resolve(null), { once: true });
    return promise.finally(() => {
      lastEnd = performance.now();
      if (waiting.get(callId) === own) waiting.delete(callId);
    });
  }

  const watchTool =
    (run: ToolActivities[string]): ToolActivities[string] =>
    async (attempt) => {
      const answer = await run(attempt);
      const call = waiting.get(attempt.callId);
      if (call !== undefined) call.answer = answer;
      return answer;
    };

  const watchSettle =
    (settle: LedgerActivities['settle']): LedgerActivities['settle'] =>
    async (settlement) => {
      const settled = await settle(settlement);
      const call = waiting.get(settlement.callId);
      if (call?.answer === undefined || settled.state !== 'charged') call?.resolve(null);
      else {
        const { times: _times, digests: _digests, ...result } = call.answer;
        call.resolve({ result, available: settled.available });
      }
      return settled;
    };

  /** Whether calls run, or one has ended in the last second. */
  const runsCalls = (): boolean => waiting.size > 0 || performance.now() - lastEnd < NEXT_CALL_MS;

  return { resultOf, watchTool, watchSettle, runsCalls };
}

/**
 * Reserves the prices of calls while Temporal starts their workflows, so that a call waits only for the longer of the two. The
 * activity of a call takes the hold over. If it does not, because another worker runs the call, its own reservation returns the
 * same hold.
 */
function createEarlyReservations(ledger: Pick<Ledger, 'reserve'>) {
  const waiting = new Map<string, Promise<ReserveResult | null>>();
  return {
    begin(call: CallRequest): void {
      const reserved = ledger.reserve(reservationOf(call)).catch(() => null);
      waiting.set(call.callId, reserved);
    },
    drop(callId: string): void {
      waiting.delete(callId);
    },
    /** Wraps the step of the ledger. A call without a hold asks once more, in its own time. */
    takeOver:
      (reserve: LedgerActivities['reserve']): LedgerActivities['reserve'] =>
      async (call) => {
        const early = waiting.get(call.callId);
        waiting.delete(call.callId);
        const reserved = (await early) ?? null;
        return reserved?.status === 'held' ? reserved : reserve(call);
      },
  };
}

/** Creates the fast lane of a pool's worker. @throws EnvError if the worker has no connection to MongoDB */
export async function createFastLane(core: WorkerCore, pool: Pool): Promise<FastLane> {
  const { env, keyring, connection, open, onError, stopping } = core;
  const store = core.requireStore();
  const ledger = open.adopt(createLedger(store, onError), (it) => it.flush());
  const receiptKeys = await untilStoreAnswers(core, () => openReceiptKeys(store, keyring));
  // The SDK hands a workflow task to a worker together with the response to the start only if both use the same connection.
  const client = new Client({
    connection,
    namespace: env.TEMPORAL_NAMESPACE,
    dataConverter: dataConverter(keyring),
    interceptors: { workflow: [traceWorkflowStarts] },
  });
  store.onEvents((accountId) => startDispatch(client, accountId).catch(onError));
  const { resultOf, watchTool, watchSettle, runsCalls } = createResultWatch();
  const { reserve, settle } = createLedgerActivities(ledger);
  const reservations = createEarlyReservations(ledger);
  return {
    workflowBundle: await loadWorkflowBundle(onError),
    activitiesWith(tools) {
      const watched = Object.fromEntries(Object.entries(tools).map(([name, run]) => [name, watchTool(run)]));
      const steps = { reserve: reservations.takeOver(reserve), settle: watchSettle(settle) };
      return { ...watched, ...steps, ...createWholeCall(steps, watched) };
    },
    rowActivities: (tools) =>
      createRunRows(
        {
          store,
          keyring,
          ledger,
          receiptKeys,
          limit: env.RATE_LIMIT,
          runsCalls,
          startCallback: (id, accountId) => startCallback(client, id, accountId),
          startDispatch: (accountId) => startDispatch(client, accountId),
          onError,
        },
        tools,
      ),
    async start(sealed, traceparent, gone) {
      stopping.throwIfAborted();
      const { request, running } = openCallStart(keyring, sealed);
      const { callId } = request;
      const options = callOptions(
        { request: { ...request, inFastLane: true }, running },
        toolQueue(pool, 'fast'),
      );
      // Before the start, because the call can have ended before the response to the start is read.
      const isOver = new AbortController();
      const result = resultOf(callId, AbortSignal.any([gone, isOver.signal]));
      void result.then(() => reservations.drop(callId));
      const start = async () => {
        try {
          reservations.begin(request);
          const handle = await client.workflow.start(WORKFLOWS.callTool, {
            ...options,
            requestEagerStart: true,
          });
          // Another worker may take the task from the queue.
          if (!handle.eagerlyStarted) isOver.abort();
        } catch (error) {
          isOver.abort();
          if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        }
      };
      await inContext(contextOf(traceparent), () => connection.withDeadline(Date.now() + START_MS, start));
      return { result: result.then((it) => it && sealCallResult(keyring, callId, it)) };
    },
  };
}
