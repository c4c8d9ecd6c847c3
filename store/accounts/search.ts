import type { CallDoc } from '../calls/callDocs.ts';
import type { ApiKeyDoc } from '../keys/keyDocs.ts';
import { copyJournal } from '../ledger/copyJournal.ts';
import type { Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import { ACCOUNT_SEARCH_INDEX, type Account, type AccountDoc } from './accountDocs.ts';

const MAX_KEYS = 25;
/** Timeout of a search on the server: a part of an address is compared with every address. */
const SEARCH_TIMEOUT_MS = 5000;

/** The beginning of a key, and how many of its characters are stored. */
const PREFIX = /^ut_[0-9A-Za-z]{1,6}/;

/** A key with the address of its owner. */
interface FoundKey {
  key: ApiKeyDoc;
  email: string;
}

/** Searches of operators over all accounts. */
interface Search {
  /** Accounts whose email address contains `part`, ignoring case, newest first. */
  accounts(part: string, page: PageRequest): Promise<Page<Account>>;
  /** Keys whose current or previous secret begins like `text`, which may be a whole key; newest first. */
  keys(text: string): Promise<FoundKey[]>;
  key(id: string): Promise<ApiKeyDoc | null>;
  /** The call with this id or this request id. */
  call(id: string): Promise<CallDoc | null>;
}

/** Escapes the characters that have a meaning in a regular expression. */
const literal = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');

export function createSearch(store: Store): Search {
  const { accounts, apiKeys, calls } = store;
  return {
    accounts: (part, page) =>
      pageByTime(
        'accounts',
        (condition) =>
          accounts
            .find({ $and: [condition, { email: { $regex: literal(part.toLowerCase()) } }] })
            .project<Account>({ holds: 0, journal: 0 })
            .hint(ACCOUNT_SEARCH_INDEX)
            .maxTimeMS(SEARCH_TIMEOUT_MS),
        'createdAt',
        page,
      ),

    async keys(text) {
      const [prefix] = PREFIX.exec(text) ?? [];
      if (prefix === undefined) return [];
      const begins = { $regex: `^${prefix}` };
      const found = await apiKeys
        .find({ $or: [{ prefix: begins }, { 'previous.prefix': begins }] })
        .sort({ createdAt: -1, _id: -1 })
        .limit(MAX_KEYS)
        .maxTimeMS(SEARCH_TIMEOUT_MS)
        .toArray();
      const owners = await accounts
        .find({ _id: { $in: found.map(({ accountId }) => accountId) } })
        .project<Pick<AccountDoc, '_id' | 'email'>>({ email: 1 })
        .toArray();
      const emails = new Map(owners.map(({ _id, email }) => [_id, email]));
      return found.map((key) => ({ key, email: emails.get(key.accountId) ?? '' }));
    },

    key: (id) => apiKeys.findOne({ _id: id }),

    async call(id) {
      const find = async () => (await calls.findOne({ _id: id })) ?? calls.findOne({ requestId: id });
      const call = await find();
      if (call?.state !== 'running') return call;
      // Its end may not have been copied from the journal yet.
      await copyJournal(store, call.accountId);
      return calls.findOne({ _id: call._id });
    },
  };
}
