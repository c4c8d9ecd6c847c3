import type Router from '@koa/router';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { Results } from '../../store/results.ts';
import { readJson } from '../body.ts';
import type { CallRunner, Outcome } from '../calls.ts';
import type { Context, State } from '../context.ts';
import { createValidator } from '../derive/validator.ts';
import type { ApiMetrics } from '../metrics.ts';
import { sendProblem } from '../middleware/problem.ts';
import { sendResult } from '../sendResult.ts';

const DEFAULT_BODY_BYTES = 1_048_576;
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

interface Dependencies {
  registry: Registry;
  runner: CallRunner;
  results: Results;
  metrics: Pick<ApiMetrics, 'call'>;
  authenticate(ctx: Context): Promise<void>;
  rateLimit(ctx: Context): Promise<void>;
  /** Calls of an account that may run in one pool at once; null: any number. */
  maxRunning: number | null;
}

function idempotencyKey(ctx: Context): string | null {
  const key = ctx.req.headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key !== 'string' || !IDEMPOTENCY_KEY.test(key))
    throw new ServiceError('invalid_header', {
      detail: 'Idempotency-Key: 1 to 255 visible ASCII characters.',
    });
  return key;
}

function maxCredits(ctx: Context): number {
  const text = ctx.req.headers['x-max-credits'];
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (typeof text !== 'string' || !/^\d{1,15}$/.test(text))
    throw new ServiceError('invalid_header', { detail: 'X-Max-Credits: a whole number of credits.' });
  return Number(text);
}

/** One route for every tool: what differs between tools is in their definitions. */
export function toolRoutes(router: Router<State>, deps: Dependencies): void {
  const { registry, runner, results, metrics, authenticate, rateLimit, maxRunning } = deps;
  const compile = createValidator();
  const validators = new Map([...registry].map(([name, tool]) => [name, compile(tool.input)]));

  /** The checks that need no body, in the contract's order. */
  function authorize(ctx: Context, tool: ToolDefinition): void {
    const { account, key } = ctx.state.caller;
    if (key !== null && key.scope !== 'tools') throw new ServiceError('insufficient_scope');
    if (key?.tools != null && !key.tools.includes(tool.name)) throw new ServiceError('tool_not_allowed');
    if (account.shortfall > 0) throw new ServiceError('account_suspended');
  }

  function validate(tool: ToolDefinition, body: Record<string, unknown>): Record<string, unknown> {
    const input = validators.get(tool.name)?.(body);
    if (input === undefined) throw new ServiceError('unknown_tool');
    const faults = tool.check?.(input) ?? [];
    if (faults.length > 0) throw invalidInput(faults);
    return input;
  }

  /** What a new call must pass and an earlier one's replay need not. */
  function admit(ctx: Context, tool: ToolDefinition, max: number): void {
    const { balance, reserved, running } = ctx.state.caller.account;
    if (tool.price > max) throw new ServiceError('price_above_max');
    const available = balance - reserved;
    if (available < tool.price) {
      const detail = `This call costs ${tool.price} credits; ${available} are available.`;
      throw new ServiceError('insufficient_credits', { detail, available, cost: tool.price });
    }
    if (maxRunning !== null && (running[tool.pool] ?? 0) >= maxRunning)
      throw new ServiceError('rate_limited', { detail: 'Too many calls of this account run at once.' });
  }

  async function answer(ctx: Context, tool: ToolDefinition, outcome: Outcome): Promise<void> {
    const { ending, available, replayed } = outcome;
    const charged = 'result' in ending && !replayed ? tool.price : 0;
    if (!replayed) metrics.call(tool.name, 'error' in ending ? ending.error.code : 'ok', charged);
    ctx.set('X-Credits-Charged', String(charged));
    if (available !== null) ctx.set('X-Credits-Remaining', String(available));
    if (replayed) ctx.set('Idempotent-Replayed', 'true');
    if ('error' in ending) return sendProblem(ctx, ending.error, outcome.requestId);
    const { result } = ending;
    const json =
      'output' in result ? JSON.stringify(result.output) : await results.read(outcome.callId, result.stored);
    sendResult(ctx, tool, json);
  }

  router.post('/api/v1/tools/:tool', async (ctx) => {
    // Before the first wait: who hangs up during the checks has hung up, too.
    const hangup = new AbortController();
    ctx.res.once('close', () => hangup.abort());
    await authenticate(ctx);
    const tool = registry.get(ctx.params.tool ?? '');
    if (tool === undefined) throw new ServiceError('unknown_tool');
    const { account, key } = ctx.state.caller;
    ctx.set('Cache-Control', 'no-store');
    ctx.set('X-Credits-Cost', String(tool.price));
    ctx.set('X-Credits-Charged', '0');
    ctx.set('X-Credits-Remaining', String(account.balance - account.reserved));
    authorize(ctx, tool);
    await rateLimit(ctx);
    const [idempotency, max] = [idempotencyKey(ctx), maxCredits(ctx)];
    const input = validate(tool, await readJson(ctx.req, tool.limits.bodyBytes ?? DEFAULT_BODY_BYTES));
    const outcome = await runner.run({
      accountId: account._id,
      key,
      tool,
      input,
      idempotencyKey: idempotency,
      requestId: ctx.state.requestId,
      hangup: hangup.signal,
      admit: () => admit(ctx, tool, max),
    });
    await answer(ctx, tool, outcome);
  });
}
