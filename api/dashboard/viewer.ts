import type { Account } from '../../store/mongo.ts';
import type { User } from '../auth.ts';

/** Who looks at a page. */
export interface Viewer {
  user: User;
  account: Account;
  sessionId: string;
  /** Comes back with each form. */
  formToken: string;
}
