import { ServiceError } from '../../schemas/errors.ts';
import type { Account } from '../../store/accounts/accountDocs.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';

/** Id of the account that pays for trial calls. It has no owner, no keys and no webhook endpoints. */
export const TRIAL_ACCOUNT = 'acc_trial';
/** Not an email address, so that no user can sign up or sign in with it. */
const NAME = 'trial';
const DAY_MS = 86_400_000;

/**
 * Returns the trial account with credits for one more call. Creates it when it is first needed.
 *
 * @throws ServiceError rate_limited if the credits of the day are spent
 */
export type FindTrialAccount = (price: number) => Promise<Account>;

/** @param dailyCredits credits that the account is granted per day (UTC), once they are needed */
export function createTrialAccount(accounts: Accounts, dailyCredits: number): FindTrialAccount {
  /** Day of the last grant, so that an empty account costs no transaction per request. */
  let grantedDay = '';
  const accountId = TRIAL_ACCOUNT;
  const find = async (): Promise<Account> =>
    (await accounts.find(accountId)) ?? (await accounts.create({ id: accountId, email: NAME, credits: 0 }));

  return async (price) => {
    const account = await find();
    if (account.balance - account.reserved >= price) return account;
    const now = Date.now();
    const day = new Date(now).toISOString().slice(0, 10);
    if (grantedDay !== day) {
      // The day is the reference of the grant, so that the processes of the API grant it once.
      await accounts.grant({
        accountId,
        type: 'allowance',
        amount: dailyCredits,
        reference: day,
        reason: null,
      });
      grantedDay = day;
    }
    const granted = await find();
    if (granted.balance - granted.reserved >= price) return granted;
    throw new ServiceError('rate_limited', {
      detail: 'The trial calls of today have all been used. Create an account to go on; it has free credits.',
      retryAfter: Math.ceil((DAY_MS - (now % DAY_MS)) / 1000),
    });
  };
}
