import type { ClientSession, MongoClient } from 'mongodb';

/** Starts the dispatch of an account's stored events. Reports its own errors: the sweeper finds events without a dispatch. */
type StartDispatch = (accountId: string) => Promise<void> | void;

/** Transactions, and the dispatch of the events that they store. */
export interface Transactions {
  /**
   * Runs `steps` in a transaction. If it conflicts with another transaction, `steps` run again. After the commit, the
   * dispatch of the events that the transaction stored is started.
   */
  transaction<T>(steps: (session: ClientSession) => Promise<T>): Promise<T>;
  /**
   * Starts the dispatch of an account's events: now, or after the commit of the session's transaction. The functions of
   * `store/webhooks/events.ts` call it for each event that they store; nothing else needs to.
   */
  eventStored(accountId: string, session?: ClientSession): Promise<void>;
  /** Sets how this process starts dispatches. A process that does not set it leaves its events to the sweeper. */
  onEvents(start: StartDispatch): void;
}

export function createTransactions(client: MongoClient): Transactions {
  /** The accounts of which an open transaction has stored events. */
  const accountsOf = new WeakMap<ClientSession, Set<string>>();
  let startDispatch: StartDispatch = () => undefined;
  return {
    async transaction(steps) {
      const accountIds = new Set<string>();
      const result = await client.withSession((session) => {
        accountsOf.set(session, accountIds);
        return session.withTransaction(() => {
          accountIds.clear();
          return steps(session);
        });
      });
      for (const accountId of accountIds) await startDispatch(accountId);
      return result;
    },

    async eventStored(accountId, session) {
      if (session === undefined) return startDispatch(accountId);
      const accountIds = accountsOf.get(session);
      if (accountIds === undefined) throw new Error('the session belongs to no transaction of this store');
      accountIds.add(accountId);
    },

    onEvents(start) {
      startDispatch = start;
    },
  };
}
