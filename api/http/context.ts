import type { ParameterizedContext } from 'koa';
import type { Account, ApiKeyDoc } from '../../store/mongo.ts';

/** What the middleware learns about a request and leaves for the routes. */
export interface State {
  requestId: string;
  /** Set by `authenticate`: whose request this is. */
  caller: Caller;
}

/** An account, and the key it came with; null for a dashboard session. */
export interface Caller {
  account: Account;
  key: ApiKeyDoc | null;
}

export type Context = ParameterizedContext<State>;
