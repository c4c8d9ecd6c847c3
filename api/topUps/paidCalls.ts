import { ServiceError } from '../../schemas/errors.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { ToolCallService } from '../calls/run.ts';
import type { Answer, ToolCall } from '../calls/toolCall.ts';
import type { Caller } from '../http/context.ts';
import type { Challenge } from './challenge.ts';
import type { PaymentReceipt, TopUpService, Transport } from './topUpService.ts';

/** A call, and the payment that it needed. */
interface PaidAnswer {
  answer: Answer;
  /** Null if nothing was paid. */
  receipt: PaymentReceipt | null;
}

/** Calls that can be paid within the same exchange. */
export interface PaidCalls {
  /**
   * Runs a call. If the account has too few credits, and the request has a credential, pays and runs the call once more.
   *
   * @param credential decoded; undefined: the request has none
   * @throws ServiceError as `ToolCallService.run` and `TopUpService.pay`
   */
  run(call: ToolCall, credential: unknown): Promise<PaidAnswer>;
  /** Returns the challenge to send with this error; null if it is for another reason, or the account permits no payment. */
  challengeFor(caller: Caller, tool: ToolDefinition, error: unknown): Challenge | null;
}

interface Dependencies {
  toolCallService: Pick<ToolCallService, 'run'>;
  accounts: Pick<Accounts, 'find'>;
  /** Null: programs cannot buy credits on this installation. */
  topUpService: TopUpService | null;
  /** How the calls arrive. */
  transport: Transport;
}

const isShortage = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'insufficient_credits';

export function createPaidCalls(deps: Dependencies): PaidCalls {
  const { toolCallService, accounts, topUpService, transport } = deps;

  /** Runs a call. Returns the error if the account has too few credits, whether that is found before or after its start. */
  async function attempt(call: ToolCall): Promise<Answer | ServiceError> {
    try {
      const answer = await toolCallService.run(call);
      const { ending } = answer;
      return 'error' in ending && isShortage(ending.error) ? ending.error : answer;
    } catch (error) {
      if (isShortage(error)) return error;
      throw error;
    }
  }

  return {
    async run(call, credential) {
      if (topUpService === null || credential === undefined)
        return { answer: await toolCallService.run(call), receipt: null };
      const first = await attempt(call);
      if (!(first instanceof ServiceError)) return { answer: first, receipt: null };
      const { caller } = call;
      const receipt = await topUpService
        .pay(caller.account, credential, transport)
        .catch((error: unknown) => {
          if (!isShortage(error)) throw error;
          throw new ServiceError('insufficient_credits', { ...first.members, detail: error.detail });
        });
      const account = await retryStore(() => accounts.find(caller.account._id));
      if (account === null) throw first;
      return { answer: await toolCallService.run({ ...call, caller: { ...caller, account } }), receipt };
    },

    challengeFor({ account }, tool, error) {
      if (topUpService === null || !isShortage(error)) return null;
      const { available = 0 } = error.members;
      return topUpService.challengeFor(account, tool.price - available, transport);
    },
  };
}
