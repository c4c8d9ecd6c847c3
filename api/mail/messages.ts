import { MAX_FAILURES } from '../../schemas/webhookLimits.ts';
import type { NoticeDoc } from '../../store/webhookDocs.ts';
import type { Mailer } from './mailer.ts';

/** Where the links of mails lead to. */
export const VERIFY = '/dashboard/verify';
export const RESET = '/dashboard/reset-password';
export const FORGOT = '/dashboard/forgot-password';

/** What users and owners are told by mail. All but the last go out in the background. */
export interface Mails extends Pick<Mailer, 'delivers' | 'reaches'> {
  verify(email: string, token: string): void;
  reset(email: string, token: string): void;
  /** To who has an account, when somebody signs up with their address. */
  taken(email: string): void;
  /** @throws when it could not be sent */
  disabled(email: string, notice: NoticeDoc): Promise<void>;
}

const withoutQuery = (url: string): string => url.replace(/[?#].*$/s, '');

/** The texts. @param publicUrl the address that users know us by; never what a request says it is */
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

Follow this link within an hour to verify your e-mail address. Then you can sign in:
${link}

If you did not sign up, do nothing.
`;
      mailer.post({ kind: 'verify', to, subject: 'Verify your e-mail address', text, link });
    },

    reset(to, token) {
      const link = linkTo(RESET, { token });
      const text = `Somebody, probably you, asked for a new password for your account at Utility Tools.

Set it here, within an hour:
${link}

If it was not you, do nothing. Your password stays as it is.
`;
      mailer.post({ kind: 'reset', to, subject: 'Set a new password', text, link });
    },

    taken(to) {
      const link = linkTo('/dashboard/sign-in');
      const text = `Somebody, probably you, signed up at Utility Tools with this address. It has an account already.

Sign in:
${link}

If you do not know the password, set a new one:
${linkTo(FORGOT)}
`;
      mailer.post({ kind: 'taken', to, subject: 'You have an account already', text, link });
    },

    async disabled(to, { _id, endpointId, url, at }) {
      const link = linkTo(`/dashboard/webhooks/${encodeURIComponent(endpointId)}`);
      const when = `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
      const text = `Your webhook endpoint

  ${withoutQuery(url)}

was disabled on ${when}: ${MAX_FAILURES} attempts in a row failed. What comes for it from now on is held.

Repair the receiver, then enable the endpoint and resend what was held:
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
