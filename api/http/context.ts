import type { ParameterizedContext } from 'koa';
import type { ErrorCode } from '../../schemas/errors.ts';
import type { Account } from '../../store/accounts/accountDocs.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import type { Phases } from './phases.ts';

/** The data about a tool call that are logged with its request. */
export interface CallRecord {
  tool: string;
  /** Credits charged for the call. */
  charged: number;
  phases: Phases;
}

/** Request state that the middleware sets for the routes. */
export interface State {
  requestId: string;
  /** When the request arrived, as `performance.now()`. */
  arrivedAt: number;
  /** The authenticated caller; set by `authenticate`. */
  caller: Caller;
  /** Set by the route of tool calls, for the log and the metrics. */
  call?: CallRecord;
  /** Error code of the response, if it is an error. */
  code?: ErrorCode;
}

/** The account that sends a request. `key` is null if it is authenticated by a dashboard session. */
export interface Caller {
  account: Account;
  key: ApiKeyDoc | null;
}

export type Context = ParameterizedContext<State>;
