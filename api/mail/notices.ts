import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Accounts } from '../../store/accounts.ts';
import type { Store } from '../../store/mongo.ts';
import { claimNotice, endNotice, postponeNotice } from '../../store/notices.ts';
import type { Mails } from './messages.ts';

const LOOK_EVERY_MS = 5000;

interface Dependencies {
  store: Store;
  accounts: Pick<Accounts, 'find'>;
  mails: Pick<Mails, 'disabled'>;
  log: Logger;
}

/**
 * Tells owners by mail what happened while nobody looked, until it is stopped. All API processes share the work. A
 * process that dies between sending and noting it down has the mail sent again, with the same Message-ID.
 */
export function startNotices({ store, accounts, mails, log }: Dependencies): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const { signal } = stopped;

  /** @returns false when nothing was due */
  async function sendNext(): Promise<boolean> {
    const notice = await claimNotice(store);
    if (notice === null) return false;
    const account = await accounts.find(notice.accountId);
    try {
      if (account !== null) await mails.disabled(account.email, notice);
    } catch {
      // Why is in the log already.
      const again = await postponeNotice(store, notice);
      if (!again) log.error({ accountId: notice.accountId }, 'an owner could not be told');
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
        log.warn({ err: error }, 'notices wait');
      }
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined); // told to stop
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
