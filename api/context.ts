import type { ParameterizedContext } from 'koa';
import type { AccountDoc, ApiKeyDoc } from '../store/mongo.ts';

/** What the middleware learns about a request and leaves for the routes. */
export interface State {
  requestId: string;
  /** Set by `authenticate`: whose request this is. */
  caller: Caller;
}

/** An account, and the key it came with; null for a dashboard session. */
export interface Caller {
  account: AccountDoc;
  key: ApiKeyDoc | null;
}

export type Context = ParameterizedContext<State>;
