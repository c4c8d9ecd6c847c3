import type { Logger } from 'pino';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { untilAborted } from '../../platform/untilAborted.ts';
import type { Reuse } from '../../store/calls/callDocs.ts';
import { INLINE_BYTES } from '../../store/calls/results.ts';
import { type FoundResult, type ReusableResults, reuseOf } from '../../store/calls/reusableResults.ts';
import { TRIAL_ACCOUNT } from '../trial/trialAccount.ts';
import type { Recorded, Run } from './recordCall.ts';
import type { ReplaySlots } from './replaySlots.ts';
import type { CallOutcome } from './toolCall.ts';

/**
 * Answers calls with `maxAge` with the results of earlier calls. Faults are logged: the tool then runs, or the result does not answer
 * later calls.
 */
export interface ResultReuse {
  /** Returns the result of an earlier call that answers this one, and its output; null if there is none. @throws ServiceError rate_limited, pool_busy */
  find(run: Run): Promise<{ found: FoundResult; output: Buffer } | null>;
  /** Keeps the result of a call that was just charged for later calls. */
  keep(recorded: Recorded, result: CallResult): Promise<void>;
}

/** The parts of a result that decide how it is kept. */
interface CallResult extends Pick<CallOutcome, 'stored' | 'linked'> {
  output: string | Buffer;
}

interface Dependencies {
  reusable: ReusableResults;
  keyring: Pick<Keyring, 'mac'>;
  replaySlots: ReplaySlots;
  log: Pick<Logger, 'warn'>;
}

/** How long a call waits for the store, in milliseconds. */
const STORE_MS = 3000;

export function createResultReuse({ reusable, keyring, replaySlots, log }: Dependencies): ResultReuse {
  function ofRun({ call: { caller, tool, input } }: Run): Reuse | null {
    const accountId = caller.account._id;
    // All visitors share this account.
    return accountId === TRIAL_ACCOUNT ? null : reuseOf(keyring, accountId, tool.name, input);
  }

  /** Returns the result of a step, or null if it fails or takes too long. */
  async function attempt<T>(step: () => Promise<T>): Promise<T | null> {
    try {
      return await untilAborted(step(), AbortSignal.timeout(STORE_MS));
    } catch (error) {
      log.warn({ err: error }, 'the result for an equal call was not found or not kept');
      return null;
    }
  }

  return {
    async find(run) {
      const reuse = ofRun(run);
      if (reuse === null) return null;
      const { caller, hangup } = run.call;
      const accountId = caller.account._id;
      const found = await attempt(() => reusable.find(accountId, reuse));
      if (found === null) return null;
      using slot = found.bytes <= INLINE_BYTES ? null : await replaySlots.acquire(accountId, hangup);
      slot?.noteSize(found.bytes);
      const output = await attempt(() => found.read());
      return output === null ? null : { found, output };
    },

    async keep(recorded, { output, stored, linked }) {
      const reuse = ofRun(recorded);
      if (reuse === null) return;
      const { _id: callId, accountId } = recorded.row;
      await attempt(() =>
        reusable.keep(reuse, {
          accountId,
          callId,
          result: stored === undefined ? { output } : { stored },
          bytes: Buffer.byteLength(output),
          linked,
        }),
      );
    },
  };
}
