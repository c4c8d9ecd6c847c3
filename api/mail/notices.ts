import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Accounts } from '../../store/accounts/accounts.ts';
import { claimNotice, endNotice, postponeNotice } from '../../store/billing/notices.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { NoticeDoc } from '../../store/webhooks/webhookDocs.ts';
import type { Mails } from './messages.ts';

const POLL_INTERVAL_MS = 5000;

interface Dependencies {
  store: Store;
  accounts: Pick<Accounts, 'find'>;
  mails: Pick<Mails, 'disabled' | 'balance' | 'refused' | 'budget' | 'topUp'>;
  log: Logger;
}

/**
 * Sends pending notices to owners by email until `stop` is called. All API processes share the work. If a process
 * crashes between sending an email and recording that, the email is sent again with the same Message-ID.
 */
export function startNotices({ store, accounts, mails, log }: Dependencies): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const { signal } = stopped;

  function send(email: string, notice: NoticeDoc): Promise<void> {
    switch (notice.kind) {
      case 'balance':
        return mails.balance(email, notice);
      case 'refused':
        return mails.refused(email, notice);
      case 'budget':
        return mails.budget(email, notice);
      case 'topUp':
        return mails.topUp(email, notice);
    }
    return mails.disabled(email, notice);
  }

  /** @returns false if no notice was due */
  async function sendNext(): Promise<boolean> {
    const notice = await claimNotice(store);
    if (notice === null) return false;
    const account = await accounts.find(notice.accountId);
    try {
      if (account !== null && account.closedAt === undefined) await send(account.email, notice);
    } catch {
      // The mailer has already logged the error.
      const again = await postponeNotice(store, notice);
      if (!again) log.error({ accountId: notice.accountId }, 'gave up sending a notice to an account owner');
      return true;
    }
    await endNotice(store, notice);
    return true;
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        while (!signal.aborted && (await sendNext()));
      } catch (error) {
        log.warn({ err: error }, 'could not process notices; retrying');
      }
      await sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined); // rejects when `stop` aborts it
    }
  }
  const running = run();

  return {
    async stop() {
      stopped.abort();
      await running;
    },
  };
}
