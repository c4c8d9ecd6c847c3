import { ServiceError } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { Caller } from '../http/context.ts';
import type { ApiMetrics } from '../http/metrics.ts';
import { createValidator } from '../http/validator.ts';
import type { CallRunner, Order, Outcome } from './callRunner.ts';
import type { Outages } from './outages.ts';

/** A call as its caller asks for it. */
export interface ToolCall extends Pick<Order, 'tool' | 'input' | 'idempotencyKey' | 'requestId' | 'hangup'> {
  caller: Caller;
  /** Credits it may cost at most. */
  max: number;
}

export interface Called extends Outcome {
  /** Credits this answer was charged with; 0 for a replay. */
  charged: number;
}

/** The steps of a tool call, whoever it comes from: the API's route and the dashboard both take them. */
export interface ToolCalls {
  /** What needs no body. @throws ServiceError insufficient_scope, tool_not_allowed, account_suspended */
  authorize(caller: Caller, tool: ToolDefinition): void;
  /** The input with its defaults. @throws ServiceError invalid_input */
  validate(tool: ToolDefinition, body: Record<string, unknown>): Record<string, unknown>;
  /** @throws ServiceError what refuses a call before it begins */
  run(call: ToolCall): Promise<Called>;
}

interface Dependencies {
  registry: Registry;
  runner: CallRunner;
  metrics: Pick<ApiMetrics, 'call'>;
  outages: Outages;
  /** Calls of an account that may run in one pool at once; null: any number. */
  maxRunning: number | null;
}

export function createToolCalls(deps: Dependencies): ToolCalls {
  const { registry, runner, metrics, outages, maxRunning } = deps;
  const compile = createValidator();
  const validators = new Map([...registry].map(([name, tool]) => [name, compile(tool.input, tool.check)]));

  /** What a new call must pass and an earlier one's replay need not. */
  function admit({ caller: { account }, tool, max }: ToolCall): void {
    outages.refuse();
    const { balance, reserved, running } = account;
    if (tool.price > max) throw new ServiceError('price_above_max');
    const available = balance - reserved;
    if (available < tool.price) {
      const detail = `This call costs ${tool.price} credits; ${available} are available.`;
      throw new ServiceError('insufficient_credits', { detail, available, cost: tool.price });
    }
    if (maxRunning !== null && (running[tool.pool] ?? 0) >= maxRunning)
      throw new ServiceError('rate_limited', { detail: 'Too many calls of this account run at once.' });
  }

  return {
    authorize({ account, key }, tool) {
      if (key !== null && key.scope !== 'tools') throw new ServiceError('insufficient_scope');
      if (key?.tools != null && !key.tools.includes(tool.name)) throw new ServiceError('tool_not_allowed');
      if (account.shortfall > 0) throw new ServiceError('account_suspended');
    },

    validate(tool, body) {
      const input = validators.get(tool.name)?.(body);
      if (input === undefined) throw new ServiceError('unknown_tool');
      return input;
    },

    async run(call) {
      const { caller, max: _max, ...order } = call;
      const { tool } = call;
      const outcome = await runner.run({
        ...order,
        accountId: caller.account._id,
        key: caller.key,
        admit: () => admit(call),
      });
      const { ending, replayed } = outcome;
      const charged = 'output' in ending && !replayed ? tool.price : 0;
      if (!replayed) metrics.call(tool.name, 'error' in ending ? ending.error.code : 'ok', charged);
      return { ...outcome, charged };
    },
  };
}
