import type { Vault } from '../../platform/secrets/vault.ts';
import type { Calls } from '../../store/calls/calls.ts';
import { INLINE_BYTES, type ResultReference, type Results } from '../../store/calls/results.ts';
import { retryStoreUntilAborted } from '../../store/mongo/retryStore.ts';
import type { CallRequest, VaultReference } from '../../workflows/types.ts';
import type { CallWorkflow, StartedWorkflow } from './callWorkflow.ts';
import { type Outages, unavailable } from './outages.ts';
import { RESULT_KEPT_MS, type Recorded, type Start } from './recordCall.ts';

interface Dependencies {
  workflow: CallWorkflow;
  calls: Calls;
  results: Results;
  outages: Pick<Outages, 'nextOutage'>;
  vault: Vault;
  /** URL at which workers reach the vault of this process. */
  vaultUrl: string;
}

/**
 * Starts the workflow of a call. While Temporal is unreachable this can take longer than the sweeper waits before it
 * ends a call without a workflow; the call is therefore marked at intervals as still being started.
 *
 * @throws ServiceError tool_unavailable as soon as an outage of Temporal is detected
 */
export type StartWorkflow = (recorded: Recorded, start: Start, timeout: AbortSignal) => Promise<StartedCall>;

interface StartedCall {
  workflow: StartedWorkflow;
  /** The reference to the input, if it was stored. */
  storedInput: ResultReference | undefined;
}

/**
 * Interval at which a call is marked as still being started. Well below the age at which the sweeper ends calls without
 * a workflow.
 */
const TOUCH_INTERVAL_MS = 5000;

export function createStartWorkflow(deps: Dependencies): StartWorkflow {
  const { workflow, calls, vault } = deps;

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

  async function startWorkflow(
    recorded: Recorded,
    { request, running, onStart }: Start,
    timeout: AbortSignal,
  ): Promise<StartedCall> {
    // A call with side effects keeps waiting: refusing it would use up its Idempotency-Key, because Temporal may have
    // started it.
    const outage = recorded.row.actsOnWorld
      ? new AbortController().signal
      : deps.outages.nextOutage('temporal');
    const signal = AbortSignal.any([timeout, outage]);
    // A mark that cannot be written is repeated at the next interval.
    const touch = () => void calls.touch(request.callId).catch(() => undefined);
    const timer = setInterval(touch, TOUCH_INTERVAL_MS);
    try {
      const stored = await storeLargeInput(request, signal);
      const withSecrets = { ...stored, vault: keepSecrets(recorded) };
      const started = await workflow.start(withSecrets, running, signal);
      onStart?.();
      return { workflow: started, storedInput: stored.storedInput };
    } catch (error) {
      throw outage.aborted ? unavailable() : error;
    } finally {
      clearInterval(timer);
    }
  }

  return startWorkflow;
}
