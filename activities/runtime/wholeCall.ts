import { cancellationSignal } from '@temporalio/activity';
import type { Reservation } from '../../store/ledger/ledger.ts';
import { NO_HOLD } from '../../workflows/contract.ts';
import type {
  CallRequest,
  FastLaneActivities,
  LedgerActivities,
  ToolActivities,
  WholeCall,
} from '../../workflows/types.ts';

/** The reservation of the price of a call. */
export const reservationOf = ({ callId, accountId, policy, key }: CallRequest): Reservation => {
  const { tool, pool, price, maxRunning } = policy;
  return { callId, accountId, tool, pool, price, maxRunning, key };
};

/** Creates the activity that runs whole calls from the steps with which `callTool` runs all others. */
export const createWholeCall = (
  { reserve, settle }: LedgerActivities,
  tools: ToolActivities,
): FastLaneActivities => ({
  async runWhole(call) {
    const { callId, accountId, policy } = call;
    const { tool: name, attemptMs } = policy;
    const tool = tools[name];
    if (tool === undefined) throw new Error(`no activity for ${name}`);
    const done: WholeCall = {};
    // The workflow repeats a step of the ledger until MongoDB answers.
    try {
      done.held = await reserve(reservationOf(call));
    } catch {
      return done;
    }
    const { held } = done;
    const isRepeated = held.status === 'closed' && held.charged === true;
    if (held.status !== 'held' && !isRepeated) return done;
    const { requestId, input, storedInput, file, vault, baseUrl, digestKeys, resultExpiresAt } = call;
    done.answer = await tool({
      callId,
      requestId,
      input,
      storedInput,
      file,
      vault,
      baseUrl,
      digestKeys,
      resultExpiresAt,
      attemptMs,
    });
    cancellationSignal().throwIfAborted();
    const nonce = held.status === 'held' ? held.nonce : NO_HOLD;
    try {
      const { times, digests } = done.answer;
      done.settled = await settle({ callId, accountId, wanted: 'charged', nonce, times, digests });
    } catch {
      return done;
    }
    return done;
  },
});
