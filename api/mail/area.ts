import type { ApiCore } from '../core.ts';
import { operatorOf } from '../operator.ts';
import { createMailer } from './mailer.ts';
import { createMails, type Mails } from './messages.ts';
import { startNotices } from './notices.ts';

/** Creates the emails to users. */
export function createMailArea({ env, log, apiMetrics, open, publicUrl, store, accounts }: ApiCore): {
  mails: Mails;
  /** Starts to send the notices to owners. */
  start(): void;
} {
  const mailer = open.adopt(createMailer({ env, log, metrics: apiMetrics }), (it) => it.settled());
  const mails = createMails(mailer, publicUrl, operatorOf(env));
  return {
    mails,
    start: () => void open.adopt(startNotices({ store, accounts, mails, log }), (it) => it.stop()),
  };
}
