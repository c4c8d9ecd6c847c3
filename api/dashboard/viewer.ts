import type { Account } from '../../store/mongo.ts';
import type { User } from '../auth/auth.ts';

/** The signed-in user of a page. */
export interface Viewer {
  user: User;
  account: Account;
  sessionId: string;
  /** CSRF token, sent with each form. */
  formToken: string;
}
