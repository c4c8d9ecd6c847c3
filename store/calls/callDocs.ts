import type { IndexDescription } from 'mongodb';
import type { CallDigests, SpendPeriod, ToolTimes } from '../accounts/accountDocs.ts';

export const CALL_STATES = ['running', 'charged', 'refunded', 'refused'] as const;

export type CallState = (typeof CALL_STATES)[number];

/**
 * A response that the caller of a call is waiting for, or did not get. See `pendingAnswers.ts` and `store/ledger/paybacks.ts`.
 */
export interface PendingAnswer {
  /**
   * Id of the API process that has the caller's connection; null: the connection is lost, and the sweeper settles the
   * call.
   */
  process: string | null;
  /** Id of the response that is to carry the result. Calls of earlier versions have none. */
  response?: string;
  /**
   * The responses to earlier requests with the same form, the latest one first. They may carry the result too: a result that
   * one of all responses has delivered is paid.
   */
  earlier?: { process: string; response: string }[];
  /** Code of the error that the caller got instead of a result; null: no response yet, or the connection was lost. */
  code: string | null;
}

/** What a client holds of an API process. */
export interface ClientUse {
  /** Id of the account, or client address. */
  client: string;
  /** Open connections; behind a proxy, requests in progress. */
  connections: number;
  /** Bytes of request bodies that are being received. */
  receivedBytes: number;
  /** Bytes of responses that the client has not read to the end. */
  unreadBytes: number;
}

/** The lease of a running API process; see `lease.ts`. The document's id is the id of the process. */
export interface ApiProcessDoc {
  _id: string;
  renewedAt: Date;
  /** The clients that held most of the process some seconds ago. */
  clients?: { accounts: ClientUse[]; addresses: ClientUse[] };
}

/** Times of a call that were measured; see `phasesOf`. */
interface CallTiming extends Partial<ToolTimes> {
  /** Milliseconds from the arrival of the request to the end of its checks. */
  accept?: number;
  /** Milliseconds of waiting for a slot of the API process. */
  queue?: number;
  reservedAt?: Date;
  /** When the response was handed to the operating system. Only calls with `pendingAnswer` record it. */
  answeredAt?: Date;
}

/** The earlier results that a call with `maxAge` accepts. */
export interface Reuse {
  /** MAC of the account, the tool and the input without `maxAge`: equal for equal calls of one account, and for no others. */
  key: string;
  /** Maximum age of the result in seconds. That of the call itself is kept for as long. */
  maxAge: number;
}

/** The result of an earlier call that answered a call with `maxAge`. */
export interface ReusedResult {
  /** The call that made it. */
  callId: string;
  madeAt: Date;
}

/** A call: the usage log shows it, and it records the use of the Idempotency-Key. */
export interface CallDoc {
  _id: string;
  accountId: string;
  keyId: string | null;
  keyPrefix: string | null;
  tool: string;
  cost: number;
  charged: number;
  state: CallState;
  code: string | null;
  requestId: string;
  startedAt: Date;
  /**
   * When an API process last started or restarted the call's workflow, by MongoDB's clock. The sweeper skips calls for
   * which this is recent.
   */
  touchedAt: Date;
  finishedAt: Date | null;
  timing?: CallTiming;
  /** Id of the form of the dashboard that was sent. */
  formId?: string;
  /**
   * Whether the call can have side effects outside the service, such as a POST request. The tool then runs at most
   * once, and a crash does not release the Idempotency-Key.
   */
  actsOnWorld: boolean;
  /** Set when a call with an API key is charged; removed if its price is returned later. */
  period?: SpendPeriod;
  /** Set when the call is charged; missing in calls of earlier versions. */
  digests?: CallDigests;
  /**
   * Set from the start of the call if the caller cannot request the result again. Removed when the whole response has
   * been handed to the operating system, or when the call has been refunded.
   */
  pendingAnswer?: PendingAnswer;
  /**
   * Set if the call was answered with the result of an earlier one, at no cost. `copy` is what a replay repeats; missing without an
   * Idempotency-Key.
   */
  reused?: ReusedResult & { copy?: ResultReference };
  /** When MongoDB deletes a call that was answered with the result of an earlier one. No entry of the ledger refers to it. */
  deleteAt?: Date;
  /** Response that was recorded as delivered before it was sent, because its process may have lost its lease. */
  earlyResponse?: string;
  idempotency?: {
    key: string;
    /**
     * MAC of the tool and its input; a request with the same key and another MAC is refused. Null for a tool with
     * secret fields, whose calls are neither compared nor replayed.
     */
    fingerprint: string | null;
    expiresAt: Date;
  };
}

/** Reference to an input or result that is stored in MongoDB because it is too large for a workflow payload. */
export interface ResultReference {
  id: string;
  pieces: number;
}

export interface ResultPieceDoc {
  _id: string;
  data: Buffer;
  expiresAt: Date;
}

/** The encrypted input and output of a call; see `callContents.ts`. The document's id is the id of the call. */
export interface CallContentDoc {
  _id: string;
  accountId: string;
  sealed: Buffer;
  expiresAt: Date;
}

/**
 * A result that answers later calls with the same input; see `reusableResults.ts`. The document's id is the MAC of the account, the
 * tool and the input.
 */
export interface ReusableResultDoc {
  _id: string;
  accountId: string;
  /** The call that made the result, for which its pieces are encrypted. */
  callId: string;
  content: ResultReference;
  /** Size of the result in bytes. */
  bytes: number;
  madeAt: Date;
  expiresAt: Date;
}

const NEWEST_CALL = { startedAt: -1, _id: -1 } as const;

/**
 * Indexes for pages of calls, one for each kind of filter: none, a tool (with or without a state), only a state, or a key.
 */
export const CALL_PAGE_INDEXES = {
  all: { accountId: 1, ...NEWEST_CALL },
  ofTool: { accountId: 1, tool: 1, state: 1, ...NEWEST_CALL },
  inState: { accountId: 1, state: 1, ...NEWEST_CALL },
  ofKey: { accountId: 1, keyId: 1, tool: 1, state: 1, ...NEWEST_CALL },
} as const;

/**
 * Retention of calls that cost nothing, in seconds: 7 days after their end. Other calls are kept, because ledger entries
 * refer to them.
 */
export const UNCHARGED_SECONDS = 7 * 86_400;

export const CALL_INDEXES: IndexDescription[] = [
  {
    key: { accountId: 1, 'idempotency.key': 1 },
    unique: true,
    partialFilterExpression: { 'idempotency.key': { $exists: true } },
  },
  ...Object.values(CALL_PAGE_INDEXES).map((key) => ({ key })),
  { key: { requestId: 1 } },
  { key: { touchedAt: 1 }, partialFilterExpression: { state: 'running' } },
  {
    key: { finishedAt: 1 },
    expireAfterSeconds: UNCHARGED_SECONDS,
    partialFilterExpression: { state: { $in: ['refunded', 'refused'] } },
  },
  { key: { 'pendingAnswer.process': 1 }, partialFilterExpression: { pendingAnswer: { $exists: true } } },
  {
    key: { deleteAt: 1 },
    expireAfterSeconds: 0,
    partialFilterExpression: { deleteAt: { $exists: true } },
  },
];

/**
 * Retention of lease documents in seconds, far longer than a lease is valid. Expired leases count as absent anyway,
 * so this only removes the documents of killed processes.
 */
const API_PROCESS_SECONDS = 3600;

export const API_PROCESS_INDEXES: IndexDescription[] = [
  { key: { renewedAt: 1 }, expireAfterSeconds: API_PROCESS_SECONDS },
];

export const RESULT_INDEXES: IndexDescription[] = [{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }];

export const CALL_CONTENT_INDEXES: IndexDescription[] = [
  { key: { accountId: 1, expiresAt: 1 } },
  { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
];

export const REUSABLE_RESULT_INDEXES: IndexDescription[] = [
  { key: { accountId: 1 } },
  { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
];
