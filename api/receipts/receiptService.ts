import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../schemas/errors.ts';
import type { Lists } from '../../store/accounts/lists.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import type { Jobs } from '../../store/jobs/jobs.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { ReceiptKeys } from '../../store/receipts/receiptKeys.ts';

/** The payload of a receipt. `/docs/receipts` describes the fields. */
interface Claims {
  iss: string;
  iat: number;
  sub: string;
  callId: string;
  requestId: string;
  tool: string;
  credits: number;
  acceptedAt: string;
  chargedAt: string;
  inputDigest: string | null;
  outputDigest: string | null;
}

/** A signed receipt, with the keys of its digests. */
interface SignedReceipt {
  receipt: string;
  inputKey: string | null;
  outputKey: string | null;
}

/** Signs the receipts of calls. */
export interface Receipts {
  /**
   * Signs the receipt of a charged call. Waits up to 2 seconds until its price can no longer be returned.
   *
   * @param id of the call, or of the request
   * @throws ServiceError not_found, not_finished
   */
  sign(accountId: string, id: string): Promise<SignedReceipt>;
}

interface Dependencies {
  lists: Pick<Lists, 'call'>;
  jobs: Pick<Jobs, 'openOf'>;
  /** Whether the price of a charged call was returned. */
  isPaidBack(call: CallDoc): Promise<boolean>;
  receiptKeys: Pick<ReceiptKeys, 'findDigestKeys' | 'signingKey'>;
  publicUrl(): string;
}

/** How long a request waits for the record that the response of a call was sent, which mostly takes milliseconds. */
const WAIT_MS = 2000;
const POLL_MS = 100;

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The payload of the receipt of a charged call. */
const claimsOf = (call: CallDoc, issuer: string): Claims => ({
  iss: issuer,
  iat: Math.floor(Date.now() / 1000),
  sub: call.accountId,
  callId: call._id,
  requestId: call.requestId,
  tool: call.tool,
  credits: call.charged,
  acceptedAt: call.startedAt.toISOString(),
  chargedAt: (call.finishedAt ?? call.startedAt).toISOString(),
  inputDigest: call.digests?.input ?? null,
  outputDigest: call.digests?.output ?? null,
});

export function createReceipts(deps: Dependencies): Receipts {
  const { lists, jobs, isPaidBack, receiptKeys, publicUrl } = deps;

  /** Whether the price of a charged call is returned if its result cannot be delivered. */
  const isBeingDelivered = async ({ _id, pendingAnswer }: CallDoc): Promise<boolean> =>
    pendingAnswer !== undefined || (await jobs.openOf([_id])).has(_id);

  /** Returns a call that has ended. @throws ServiceError not_found, not_finished */
  async function findEnded(accountId: string, id: string): Promise<CallDoc> {
    const until = performance.now() + WAIT_MS;
    for (;;) {
      const call = await retryStore(() => lists.call(accountId, id));
      if (call === null) throw new ServiceError('not_found');
      const isRunning = call.state === 'running';
      if (!isRunning && !(await retryStore(() => isBeingDelivered(call)))) return call;
      if (isRunning || performance.now() >= until)
        throw new ServiceError('not_finished', {
          detail: 'The call runs, or its response is still being sent. A receipt is signed afterwards.',
        });
      await sleep(POLL_MS);
    }
  }

  return {
    async sign(accountId, id) {
      const call = await findEnded(accountId, id);
      const { _id, state, digests } = call;
      if (state !== 'charged' || (await retryStore(() => isPaidBack(call))))
        throw new ServiceError('not_found', {
          detail: 'The call was not charged, or its price was returned, so that it has no receipt.',
        });
      const keys =
        digests === undefined ? null : await retryStore(() => receiptKeys.findDigestKeys(_id, digests.key));
      const signingKey = await retryStore(() => receiptKeys.signingKey());
      const header = encode({ alg: 'EdDSA', typ: 'receipt+jwt', kid: signingKey.id });
      const signed = `${header}.${encode(claimsOf(call, publicUrl()))}`;
      return {
        receipt: `${signed}.${signingKey.sign(signed).toString('base64url')}`,
        inputKey: keys?.input ?? null,
        outputKey: keys?.output ?? null,
      };
    },
  };
}
