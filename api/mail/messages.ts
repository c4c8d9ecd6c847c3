import { MAX_FAILURES } from '../../schemas/webhookLimits.ts';
import type { NoticeDoc } from '../../store/webhookDocs.ts';
import type { Mailer } from './mailer.ts';

/** Paths of the dashboard to which links in emails lead. */
export const VERIFY = '/dashboard/verify';
export const RESET = '/dashboard/reset-password';
export const FORGOT = '/dashboard/forgot-password';

/** The emails to users. All except `disabled` are sent in the background. */
export interface Mails extends Pick<Mailer, 'delivers' | 'reaches'> {
  verify(email: string, token: string): void;
  reset(email: string, token: string): void;
  /** Tells the owner of an account of a sign-up with the account's email address. */
  accountExists(email: string): void;
  /** Tells an owner that a webhook endpoint was disabled. @throws if the email could not be sent */
  disabled(email: string, notice: NoticeDoc): Promise<void>;
}

const withoutQuery = (url: string): string => url.replace(/[?#].*$/s, '');

/**
 * Creates the functions that write and send the emails. @param publicUrl returns the base URL of links; it never
 * comes from a request, which could forge it
 */
export function createMails(mailer: Mailer, publicUrl: () => string): Mails {
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

    async disabled(to, { _id, endpointId, url, at }) {
      const link = linkTo(`/dashboard/webhooks/${encodeURIComponent(endpointId)}`);
      const when = `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
      const text = `Your webhook endpoint

  ${withoutQuery(url)}

was disabled on ${when} because ${MAX_FAILURES} consecutive delivery attempts failed. Events for the endpoint are held until you resend them.

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
  };
}
