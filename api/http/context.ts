import type { ParameterizedContext } from 'koa';
import type { Account, ApiKeyDoc } from '../../store/mongo.ts';

/** Request state that the middleware sets for the routes. */
export interface State {
  requestId: string;
  /** Set by `authenticate`. */
  caller: Caller;
}

/** The account of a request. `key` is null for a dashboard session. */
export interface Caller {
  account: Account;
  key: ApiKeyDoc | null;
}

export type Context = ParameterizedContext<State>;
