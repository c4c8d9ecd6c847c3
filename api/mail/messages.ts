import { ERRORS } from '../../schemas/errors.ts';
import { MAX_FAILURES } from '../../schemas/webhookLimits.ts';
import type {
  BalanceNotice,
  BudgetNotice,
  DisabledNotice,
  RefusedNotice,
  TopUpNotice,
} from '../../store/webhooks/webhookDocs.ts';
import { topUpFailure } from '../billing/topUpTexts.ts';
import { remedyInWords } from '../openapi/remedies.ts';
import type { Operator } from '../operator.ts';
import type { Mailer } from './mailer.ts';

/** Paths of the dashboard to which links in emails lead. */
export const VERIFY = '/dashboard/verify';
export const RESET = '/dashboard/reset-password';
export const FORGOT = '/dashboard/forgot-password';
export const CONFIRM_EMAIL = '/dashboard/confirm-email';

type PasskeyChange = 'added' | 'removed';

/** Sentence of the email about a changed passkey that states its effect on sign-ins. */
const PASSKEY_EFFECTS: Readonly<Record<PasskeyChange, string>> = {
  added: 'It signs in to your account without the password.',
  removed: 'It no longer signs in to your account.',
};

/** The emails to users. All except those that are promises are sent in the background. */
export interface Mails extends Pick<Mailer, 'delivers' | 'reaches'> {
  verify(email: string, token: string): void;
  reset(email: string, token: string): void;
  /** Tells the owner of an account of a sign-up with the account's email address. */
  accountExists(email: string): void;
  /** Asks the owner to confirm a new email address. */
  changeEmail(email: string, token: string): void;
  /** Tells the owner at the old address that the email address was changed. */
  emailChanged(from: string, to: string): void;
  /** Tells the owner that a passkey of this name was added or removed. */
  passkeyChanged(email: string, change: PasskeyChange, name: string): void;
  accountClosed(email: string): void;
  /** Tells an owner that a webhook endpoint was disabled. @throws if the email could not be sent */
  disabled(email: string, notice: DisabledNotice): Promise<void>;
  /** Tells an owner that the balance fell below thresholds. @throws if the email could not be sent */
  balance(email: string, notice: BalanceNotice): Promise<void>;
  /** Tells an owner that requests were refused. @throws if the email could not be sent */
  refused(email: string, notice: RefusedNotice): Promise<void>;
  /** Tells an owner that a key has spent a share of its budget. @throws if the email could not be sent */
  budget(email: string, notice: BudgetNotice): Promise<void>;
  /** Tells an owner that an automatic top-up failed. @throws if the email could not be sent */
  topUp(email: string, notice: TopUpNotice): Promise<void>;
}

const minuteOf = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const count = (credits: number): string => new Intl.NumberFormat('en').format(credits);

/** Turns the id of a notice, which has spaces, into the local part of a Message-ID. */
const idOf = (notice: string): string => notice.replaceAll(' ', '.');

const withoutQuery = (url: string): string => url.replace(/[?#].*$/s, '');

/**
 * Creates the functions that write and send the emails. @param publicUrl returns the base URL of links; it never
 * comes from a request, which could forge it
 *
 * @param operator operator of the installation; null if none is configured
 */
export function createMails(mailer: Mailer, publicUrl: () => string, operator: Operator | null): Mails {
  const helper =
    operator === null
      ? 'only the operator of the service can undo it. This installation has no operator named.'
      : `write to ${operator.name} at once: ${operator.email}`;

  const linkTo = (path: string, query: Record<string, string> = {}): string => {
    const url = new URL(path, publicUrl());
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url.href;
  };

  return {
    delivers: mailer.delivers,
    reaches: mailer.reaches,

    verify(to, token) {
      const link = linkTo(VERIFY, { token });
      const text = `Welcome to Utility Tools.

Verify your email address with this link, which is valid for one hour. After that you can sign in.
${link}

If you did not sign up, ignore this message.
`;
      mailer.post({ kind: 'verify', to, subject: 'Verify your email address', text, link });
    },

    reset(to, token) {
      const link = linkTo(RESET, { token });
      const text = `We received a request to reset the password of your Utility Tools account.

Set a new password with this link, which is valid for one hour:
${link}

If you did not request this, ignore this message. Your password has not changed.
`;
      mailer.post({ kind: 'reset', to, subject: 'Set a new password', text, link });
    },

    accountExists(to) {
      const link = linkTo('/dashboard/sign-in');
      const text = `Someone, probably you, tried to sign up for Utility Tools with this email address. You already have an account.

Sign in:
${link}

If you have forgotten your password, reset it:
${linkTo(FORGOT)}

If you did not sign up, ignore this message. Your account has not changed.
`;
      mailer.post({ kind: 'taken', to, subject: 'You already have an account', text, link });
    },

    changeEmail(to, token) {
      const link = linkTo(CONFIRM_EMAIL, { token });
      const text = `We received a request to change the email address of a Utility Tools account to this address.

Confirm the change with this link, which is valid for one hour:
${link}

If you did not request this, ignore this message. Nothing has changed.
`;
      mailer.post({ kind: 'change', to, subject: 'Confirm your new email address', text, link });
    },

    emailChanged(from, to) {
      const link = linkTo('/dashboard/settings/security-log');
      const text = `The email address of your Utility Tools account was changed to

  ${to}

From now on, sign in with the new address. The security log shows who changed it:
${link}

If you did not change it, ${helper}
`;
      const subject = 'Your email address was changed';
      mailer.post({ kind: 'changed', to: from, subject, text, link });
    },

    passkeyChanged(to, change, name) {
      const link = linkTo('/dashboard/settings/passkeys');
      const text = `A passkey was ${change}:

  ${name.replaceAll(/\s+/g, ' ')}

${PASSKEY_EFFECTS[change]} The settings show your passkeys:
${link}

If you did not do this, change your password and look through your passkeys and the security log at once:
${linkTo('/dashboard/settings/security-log')}
`;
      mailer.post({ kind: 'passkey', to, subject: `A passkey was ${change}`, text, link });
    },

    accountClosed(to) {
      const link = linkTo('/dashboard/sign-up');
      const text = `Your Utility Tools account was closed. Its keys were revoked, and this email address was removed from it.

You can open a new account at any time; it starts without free credits:
${link}

If you did not close the account, ${helper}
`;
      mailer.post({ kind: 'closed', to, subject: 'Your account was closed', text, link });
    },

    async disabled(to, { _id, endpointId, url, at }) {
      const link = linkTo(`/dashboard/webhooks/${encodeURIComponent(endpointId)}`);
      const text = `Your webhook endpoint

  ${withoutQuery(url)}

was disabled on ${minuteOf(at)} because ${MAX_FAILURES} consecutive delivery attempts failed. Events for the endpoint are held until you resend them.

Repair the receiver, then enable the endpoint and resend the held events here:
${link}
`;
      await mailer.send({
        kind: 'disabled',
        to,
        subject: 'A webhook endpoint was disabled',
        text,
        link,
        id: _id,
      });
    },

    async balance(to, { _id, balance, thresholds, at }) {
      const link = linkTo('/dashboard/credits');
      const levels = new Intl.ListFormat('en').format(
        thresholds.toSorted((a, b) => b - a).map((threshold) => count(threshold)),
      );
      const lowest = Math.min(...thresholds);
      const text = `The balance of your Utility Tools account fell below ${levels} ${levels === '1' ? 'credit' : 'credits'} on ${minuteOf(at)}. After that call it was ${count(balance)}.

Buy credits or change your alerts here:
${link}

You get this message because you set an alert. It is sent again when the balance falls below the threshold another time.
`;
      await mailer.send({
        kind: 'balance',
        to,
        subject: `Your balance fell below ${count(lowest)} ${lowest === 1 ? 'credit' : 'credits'}`,
        text,
        link,
        id: _id,
      });
    },

    async refused(to, { _id, code, tool, keyPrefix, at }) {
      const link = linkTo('/dashboard/calls/refused');
      const request = [tool ?? 'a request', keyPrefix === null ? '' : `with the key ${keyPrefix}…`];
      const text = `Requests of your Utility Tools account were refused. The first of today, on ${minuteOf(at)}:

  ${code}: ${request.join(' ').trim()}

${ERRORS[code].title}. ${remedyInWords(code)} Nothing was charged.

All refused requests of the last 7 days:
${link}

You get this message at most once a day. Switch it off here:
${linkTo('/dashboard/credits')}
`;
      await mailer.send({ kind: 'refused', to, subject: 'Requests were refused', text, link, id: idOf(_id) });
    },

    async budget(to, { _id, keyId, keyName, period, percent, credits, at }) {
      const link = linkTo(`/dashboard/keys/${encodeURIComponent(keyId)}`);
      const effect =
        percent < 100
          ? 'Its calls are refused when the budget is used up.'
          : `Its calls are refused until the next ${period}.`;
      const text = `The API key

  ${keyName.replaceAll(/\s+/g, ' ')}

reached ${percent} % of its budget of ${count(credits)} credits per ${period} on ${minuteOf(at)}. ${effect}

Change the budget here:
${link}

Switch these messages off here:
${linkTo('/dashboard/credits')}
`;
      const subject = `A key has reached ${percent} % of its budget`;
      await mailer.send({ kind: 'budget', to, subject, text, link, id: idOf(_id) });
    },

    async topUp(to, { _id, reason, isOff, at }) {
      const link = linkTo('/dashboard/credits');
      const effect = isOff
        ? 'Automatic top-ups are now switched off.'
        : 'The next one is tried when the balance falls below your threshold again.';
      const text = `An automatic top-up of your Utility Tools account was not made on ${minuteOf(at)}, and nothing was paid.

${topUpFailure(reason)} ${effect}

Buy credits or change the settings here:
${link}

Switch these messages off at the same place.
`;
      const subject = 'An automatic top-up was not made';
      await mailer.send({ kind: 'topUp', to, subject, text, link, id: idOf(_id) });
    },
  };
}
