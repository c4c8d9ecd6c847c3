import type { ParameterizedContext } from 'koa';
import type { ErrorCode } from '../../schemas/errors.ts';
import type { Account, ApiKeyDoc } from '../../store/mongo.ts';
import type { Phases } from '../calls/phases.ts';

/** A tool call as its request is logged. */
export interface CallRecord {
  tool: string;
  /** Credits. */
  charged: number;
  phases: Phases;
}

/** Request state that the middleware sets for the routes. */
export interface State {
  requestId: string;
  /** Set by `authenticate`. */
  caller: Caller;
  /** Set by the route of tools, for the log and the metrics. */
  call?: CallRecord;
  /** Code of the error of the response. */
  code?: ErrorCode;
}

/** The account of a request. `key` is null for a dashboard session. */
export interface Caller {
  account: Account;
  key: ApiKeyDoc | null;
}

export type Context = ParameterizedContext<State>;
