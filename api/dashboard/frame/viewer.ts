import type { Account } from '../../../store/accounts/accountDocs.ts';
import type { Broadcast } from '../../../store/accounts/broadcast.ts';
import type { User } from '../../auth/auth.ts';

/** The signed-in user of a page. */
export interface Viewer {
  user: User;
  account: Account;
  /** Whether the user is an operator who gets the role only with two-factor authentication. */
  needsTwoFactor: boolean;
  sessionId: string;
  /** CSRF token, sent with each form. */
  formToken: string;
  /** The operator's notice, unless this browser has dismissed it. */
  broadcast: Broadcast | null;
}
