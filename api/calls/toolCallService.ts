import { describeShortage } from '../../schemas/callErrors.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import { secretFields, type ToolDefinition } from '../../schemas/tool.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import type { CallContents } from '../../store/calls/callContents.ts';
import { budgetOf, describeBudget, exceededBudget } from '../../store/ledger/keySpend.ts';
import type { Caller } from '../http/context.ts';
import type { ApiMetrics } from '../http/metrics.ts';
import { createValidator } from '../http/validator.ts';
import type { CallOutcome } from './callOutcome.ts';
import type { CallRunner, ToolCallRequest } from './callRunner.ts';
import type { Outages } from './outages.ts';
import type { TimeoutLimit } from './timeoutLimit.ts';

/** A request to run a tool, with its validated input. */
export interface ToolCall
  extends Pick<
    ToolCallRequest,
    'tool' | 'input' | 'idempotencyKey' | 'requestId' | 'formId' | 'arrivedAt' | 'hangup' | 'onStart'
  > {
  caller: Caller;
  /** Highest price in credits that the caller accepts. */
  max: number;
}

export interface ToolCallOutcome extends CallOutcome {
  /** Credits charged for this response; 0 for a replay or an error. */
  charged: number;
}

/** The steps of a tool call, used by the API route, the MCP endpoint and the dashboard. */
export interface ToolCallService extends Pick<CallRunner, 'cancel' | 'step'> {
  /**
   * Makes the checks that need only the caller and the tool. @throws ServiceError insufficient_scope,
   * tool_not_allowed, account_suspended
   */
  authorize(caller: Caller, tool: ToolDefinition): void;
  /** Validates the input and fills in defaults. @throws ServiceError invalid_input */
  validate(tool: ToolDefinition, body: Record<string, unknown>): Record<string, unknown>;
  /** @throws ServiceError if the call is refused before it starts */
  run(call: ToolCall): Promise<ToolCallOutcome>;
}

interface Dependencies {
  registry: Registry;
  runner: CallRunner;
  metrics: Pick<ApiMetrics, 'call'>;
  outages: Outages;
  accounts: Pick<Accounts, 'find'>;
  contents: Pick<CallContents, 'keep'>;
  timeouts: TimeoutLimit;
  /** Maximum number of concurrent calls of an account in one pool; null: unlimited. */
  maxRunning: number | null;
}

export function createToolCallService(deps: Dependencies): ToolCallService {
  const { registry, runner, metrics, outages, accounts, contents, timeouts, maxRunning } = deps;
  const compile = createValidator();
  const validators = new Map([...registry].map(([name, tool]) => [name, compile(tool.input, tool.check)]));

  /** Makes the checks that apply to new calls but not to replays of earlier ones. */
  function checkNewCall({ caller: { account, key }, tool, max }: ToolCall): void {
    outages.refuse();
    const { balance, reserved, running, pausedUntil } = account;
    if (pausedUntil !== undefined && pausedUntil > new Date())
      throw new ServiceError('rate_limited', {
        detail: 'Too many calls of this account ended without a result in the last 24 hours.',
        retryAfter: Math.ceil((pausedUntil.getTime() - Date.now()) / 1000),
      });
    if (tool.price > max) throw new ServiceError('price_above_max');
    const available = balance - reserved;
    if (available < tool.price) {
      const detail = describeShortage(tool.price, available);
      throw new ServiceError('insufficient_credits', { detail, available, cost: tool.price });
    }
    const budget = key && exceededBudget(budgetOf(key), account.keySpend, tool.price, new Date());
    if (budget !== null) {
      const detail = describeBudget(budget, tool.price);
      throw new ServiceError('key_budget_exceeded', { detail, cost: tool.price, budget });
    }
    if (maxRunning !== null && (running[tool.pool] ?? 0) >= maxRunning)
      throw new ServiceError('rate_limited', { detail: 'The account has too many running calls.' });
    timeouts.check(account._id);
  }

  /**
   * Reads the available credits again, because other requests may have spent some since this request was
   * authenticated.
   */
  async function availableNow(accountId: string): Promise<number | null> {
    const account = await accounts.find(accountId);
    return account === null ? null : account.balance - account.reserved;
  }

  /** Keeps input and output of a call that has ended, if the account does so. */
  function keepContent(
    { caller: { account }, tool, input }: ToolCall,
    { callId, ending }: CallOutcome,
  ): void {
    if (account.keepsContents !== true) return;
    const secrets = secretFields(tool).filter((name) => name in input);
    void contents.keep({
      callId,
      accountId: account._id,
      input: Object.fromEntries(Object.entries(input).filter(([name]) => !secrets.includes(name))),
      hadSecrets: secrets.length > 0,
      ending:
        'output' in ending
          ? { json: ending.output }
          : { error: { code: ending.error.code, detail: ending.error.detail, ...ending.error.members } },
    });
  }

  return {
    cancel: runner.cancel,
    step: runner.step,

    authorize({ account, key }, tool) {
      if (key !== null && key.scope !== 'tools') throw new ServiceError('insufficient_scope');
      if (key?.tools != null && !key.tools.includes(tool.name)) throw new ServiceError('tool_not_allowed');
      if (account.suspension !== undefined)
        throw new ServiceError('account_suspended', {
          detail: 'The account was suspended by an operator of the service. The dashboard shows the reason.',
        });
      if (account.shortfall > 0) throw new ServiceError('account_suspended');
    },

    validate(tool, body) {
      const input = validators.get(tool.name)?.(body);
      if (input === undefined) throw new ServiceError('unknown_tool');
      return input;
    },

    async run(call) {
      const { caller, max: _max, ...request } = call;
      const { tool } = call;
      const outcome = await runner.run({
        ...request,
        accountId: caller.account._id,
        key: caller.key,
        checkNewCall: () => checkNewCall(call),
      });
      const { ending, replayed } = outcome;
      const charged = 'output' in ending && !replayed ? tool.price : 0;
      if (!replayed) keepContent(call, outcome);
      if (!replayed && 'error' in ending) timeouts.count(caller.account._id, ending.error.code);
      if (!replayed) metrics.call(tool.name, 'error' in ending ? ending.error.code : 'ok', charged);
      const available =
        replayed && outcome.available === null ? await availableNow(caller.account._id) : outcome.available;
      return { ...outcome, available, charged };
    },
  };
}
