import { LRUCache } from 'lru-cache';
import { describeShortage } from '../../schemas/callErrors.ts';
import type { Env } from '../../schemas/env.ts';
import type { RateLimit } from '../../schemas/envValues.ts';
import { type ErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import { MAX_RUNNING } from '../../store/calls/callPolicy.ts';
import { budgetOf, describeBudget, exceededBudget } from '../../store/ledger/keySpend.ts';
import { countEvent, createCounter } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { Caller } from '../http/context.ts';
import { createValidator } from '../http/validator.ts';
import type { Outages } from './outages.ts';
import type { ToolCall } from './toolCall.ts';

/** The parts of a call that its admission depends on. */
type NewCall = Pick<ToolCall, 'caller' | 'tool' | 'max'>;

/** The checks of a request before its call runs. */
export interface Admission {
  /**
   * Makes the checks that need only the caller and the tool. @throws ServiceError insufficient_scope,
   * tool_not_allowed, account_suspended
   */
  authorize(caller: Caller, tool: ToolDefinition): void;
  /** Validates the input and fills in defaults. @throws ServiceError invalid_input */
  validate(tool: ToolDefinition, body: Record<string, unknown>): Record<string, unknown>;
  /** Makes the checks that apply to new calls but not to replays of earlier ones. @throws ServiceError */
  admit(call: NewCall): void;
  /** The checks of `admit` for a call that runs later: the account may be running as many calls as it can. @throws ServiceError */
  admitLater(call: NewCall): void;
}

export interface AdmissionDependencies {
  registry: Registry;
  outages: Pick<Outages, 'refuse'>;
  timeouts: TimeoutLimit;
  limits: Pick<Env, 'RATE_LIMIT'>;
}

export function createAdmission({ registry, outages, timeouts, limits }: AdmissionDependencies): Admission {
  const compile = createValidator();
  const validators = new Map([...registry].map(([name, tool]) => [name, compile(tool.input, tool.check)]));

  function admitLater({ caller: { account, key }, tool, max }: NewCall): void {
    outages.refuse();
    const { balance, reserved, pausedUntil } = account;
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
    timeouts.check(account._id);
  }

  return {
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

    admitLater,

    admit(call) {
      const {
        caller: { account },
        tool,
      } = call;
      admitLater(call);
      if (limits.RATE_LIMIT !== null && (account.running[tool.pool] ?? 0) >= MAX_RUNNING)
        throw new ServiceError('rate_limited', { detail: 'The account has too many running calls.' });
    },
  };
}

/** Calls of an account that may end at their time limit, without a charge, within `WINDOW_SECONDS`. */
const TIMEOUTS = 120;
const WINDOW_SECONDS = 600;
/** Errors of calls that have used up their time. */
const ENDED_BY_TIME: readonly ErrorCode[] = ['deadline_exceeded', 'target_timeout'];
/** Number of accounts above the limit that a process remembers. */
const BLOCKED = 10_000;

/** Limits the calls of an account that end at their time limit: they hold a worker slot for long and cost nothing. */
interface TimeoutLimit {
  /** Refuses a new call of an account above the limit, without a request to the database. @throws ServiceError rate_limited */
  check(accountId: string): void;
  /** Counts the end of a call, if it has used up its time. */
  count(accountId: string, code: ErrorCode): void;
}

/**
 * Creates the limit. All API processes count together; each refuses calls from the first timeout on that it counts above the
 * limit.
 *
 * @param limit null disables it
 * @param onError receives errors of the database; such a timeout is not counted
 */
export function createTimeoutLimit(
  store: Store,
  limit: RateLimit | null,
  onError: (error: unknown) => void,
  points = TIMEOUTS,
): TimeoutLimit {
  if (limit === null) return { check: () => undefined, count: () => undefined };
  const timeouts = createCounter(store, { collection: 'timeouts', max: points, seconds: WINDOW_SECONDS });
  const blocked = new LRUCache<string, true>({ max: BLOCKED });
  return {
    check(accountId) {
      const leftMs = blocked.getRemainingTTL(accountId);
      if (leftMs <= 0) return;
      throw new ServiceError('rate_limited', {
        detail: `${points} calls of this account have ended at their time limit within ten minutes.`,
        retryAfter: Math.max(1, Math.ceil(leftMs / 1000)),
      });
    },
    count(accountId, code) {
      if (!ENDED_BY_TIME.includes(code)) return;
      countEvent(timeouts, accountId).then((seconds) => {
        if (seconds !== null) blocked.set(accountId, true, { ttl: seconds * 1000 });
      }, onError);
    },
  };
}
