import type { RateLimit } from '../../schemas/envValues.ts';
import { createCounter, secondsLeft } from './counters.ts';
import type { Store } from './mongo.ts';

const KB = 1024;
const INSTALLATION = 'all';

/** Counts what is stored for accounts, so that neither an account nor all together fill the disk. */
export interface StorageLimit {
  /** Returns the seconds until the account may store more; null if it may now. */
  isFull(accountId: string): Promise<number | null>;
  /** Returns what the account has stored in bytes, rounded up to KB; 0 without limits. */
  usedBytes(accountId: string): Promise<number>;
  /** Counts this many bytes. */
  add(accountId: string, bytes: number): Promise<void>;
}

interface StorageOptions {
  /** Name of what is stored; every kind has limits of its own. */
  name: string;
  /** Maximum size in KB of what one account, and all accounts, store within `hours`. */
  kb: { account: number; installation: number };
  /** How long it is stored. */
  hours: number;
}

/** Creates a limit, which all processes share. @param limit null disables it */
export function createStorageLimit(
  store: Store,
  limit: RateLimit | null,
  { name, kb, hours }: StorageOptions,
): StorageLimit {
  if (limit === null)
    return { isFull: async () => null, usedBytes: async () => 0, add: async () => undefined };
  const seconds = hours * 3600;
  const own = createCounter(store, { name, max: kb.account, seconds });
  const all = createCounter(store, { name: `${name}-of`, max: kb.installation, seconds });
  return {
    async isFull(accountId) {
      const [ofAccount, ofAll] = await Promise.all([own.get(accountId), all.get(INSTALLATION)]);
      const full = [
        ...(ofAccount !== null && ofAccount.consumedPoints >= kb.account ? [ofAccount] : []),
        ...(ofAll !== null && ofAll.consumedPoints >= kb.installation ? [ofAll] : []),
      ];
      return full.length === 0 ? null : Math.max(...full.map(secondsLeft));
    },
    usedBytes: async (accountId) => ((await own.get(accountId))?.consumedPoints ?? 0) * KB,
    async add(accountId, bytes) {
      const size = Math.ceil(bytes / KB);
      await Promise.all([own.penalty(accountId, size), all.penalty(INSTALLATION, size)]);
    },
  };
}
