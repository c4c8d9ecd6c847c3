import type { Logger } from 'pino';
import type { Vault } from '../../platform/secrets/vault.ts';
import type { Calls } from '../../store/calls/calls.ts';
import { INLINE_BYTES, type ResultReference, type Results } from '../../store/calls/results.ts';
import { retryStoreUntilAborted } from '../../store/mongo/retryStore.ts';
import type { CallRequest, VaultReference } from '../../workflows/types.ts';
import type { CallWorkflow, StartedWorkflow, WorkflowEnd } from './callWorkflow.ts';
import { type Outages, unavailable } from './outages.ts';
import { RESULT_KEPT_MS, type Recorded, type Start } from './recordCall.ts';
import { isReplayable } from './refunds.ts';

interface Dependencies {
  workflow: CallWorkflow;
  calls: Calls;
  results: Pick<Results, 'write'>;
  deleteInput(reference: ResultReference): Promise<void>;
  outages: Pick<Outages, 'nextOutage'>;
  vault: Vault;
  /** URL at which workers reach the vault of this process. */
  vaultUrl: string;
  log: Logger;
}

/**
 * Starts the workflow of a call and waits for its end. Keeps for that time what belongs to the call outside the workflow: its secret
 * fields, and its input if it is large.
 *
 * @throws ServiceError tool_unavailable as soon as an outage of Temporal is detected before the workflow has started
 */
type RunWorkflow = (recorded: Recorded, start: Start, timeout: AbortSignal) => Promise<WorkflowEnd>;

/**
 * Interval at which a call is marked as still being started: well below the age at which the sweeper ends calls without a workflow.
 * While Temporal is unreachable, the start can take longer than that.
 */
const TOUCH_INTERVAL_MS = 5000;

export function createRunWorkflow(deps: Dependencies): RunWorkflow {
  const { workflow, calls, vault, log } = deps;

  /** Keeps the secret fields of the input in this process until the call has ended. */
  function keepSecrets({ call: { input }, secrets, row }: Recorded): VaultReference | null {
    if (secrets.length === 0) return null;
    const token = vault.put(row._id, Object.fromEntries(secrets.map((name) => [name, input[name]])));
    return { url: deps.vaultUrl, token };
  }

  /**
   * Moves the input to MongoDB if it is too large for a workflow payload, and returns the request with the reference.
   */
  async function storeLargeInput(request: CallRequest, signal: AbortSignal): Promise<CallRequest> {
    const { callId, input } = request;
    const json = Buffer.from(JSON.stringify(input));
    if (json.length <= INLINE_BYTES) return request;
    const write = () =>
      deps.results.write(callId, json, new Date(Date.now() + RESULT_KEPT_MS), `${callId}:input`);
    return { ...request, input: {}, storedInput: await retryStoreUntilAborted(write, signal) };
  }

  /** Deletes the stored input of a call whose workflow has ended. If that fails, MongoDB deletes it some minutes later. */
  function forgetInput(storedInput: ResultReference): void {
    deps
      .deleteInput(storedInput)
      .catch((error) => log.warn({ err: error }, 'could not delete the input of a call that has ended'));
  }

  /** Requests the cancellation of a call when its caller disconnects. @returns a function that ends this */
  function cancelOnHangup({ row, call: { hangup } }: Recorded, timeout: AbortSignal): () => void {
    const cancel = () => {
      workflow
        .cancel(row._id, timeout)
        .catch((error) => log.warn({ err: error }, 'could not cancel the workflow of a call'));
    };
    if (hangup.aborted) cancel();
    else hangup.addEventListener('abort', cancel, { once: true });
    return () => hangup.removeEventListener('abort', cancel);
  }

  return async (recorded, { request, running, onStart }, timeout) => {
    const { row } = recorded;
    using atEnd = new DisposableStack();
    atEnd.defer(() => vault.drop(row._id));
    // A call with side effects keeps waiting: refusing it would use up its Idempotency-Key, because Temporal may have
    // started it.
    const outage = row.actsOnWorld ? new AbortController().signal : deps.outages.nextOutage('temporal');
    const signal = AbortSignal.any([timeout, outage]);
    // A mark that cannot be written is repeated at the next interval.
    const timer = setInterval(() => void calls.touch(row._id).catch(() => undefined), TOUCH_INTERVAL_MS);
    let stored: CallRequest;
    let started: StartedWorkflow;
    try {
      stored = await storeLargeInput(request, signal);
      started = await workflow.start({ ...stored, vault: keepSecrets(recorded) }, running, signal);
    } catch (error) {
      throw outage.aborted ? unavailable() : error;
    } finally {
      clearInterval(timer);
    }
    onStart?.();
    if (!isReplayable(row)) atEnd.defer(cancelOnHangup(recorded, timeout));
    const end = await started.end(timeout);
    if (stored.storedInput !== undefined && end.state !== 'unknown') forgetInput(stored.storedInput);
    return end;
  };
}
