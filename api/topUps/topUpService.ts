import { createHash } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { creditsOf } from '../../schemas/callErrors.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { Pack } from '../../schemas/formats/packs.ts';
import type { Account } from '../../store/accounts/accountDocs.ts';
import type { Payments } from '../../store/billing/payments.ts';
import type { TopUpDoc } from '../../store/billing/topUpDocs.ts';
import type { TopUps } from '../../store/billing/topUps.ts';
import { monthOf } from '../../store/ledger/allowance.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { StripeService } from '../billing/stripeService.ts';
import {
  type Challenge,
  CREDENTIAL_HEADER,
  type Credential,
  readCredential,
  signChallenge,
} from './challenge.ts';

/** How a challenge is sent, and its answer: in the headers of HTTP, or in the messages of MCP. */
export type Transport = 'http' | 'mcp';

/** The receipt for a payment (draft-httpauth-payment-01), bound to the ledger entry that added the credits. */
export interface PaymentReceipt {
  status: 'success';
  method: 'stripe';
  /** When the credits were added; ISO 8601. */
  timestamp: string;
  /** Id of the payment at Stripe. */
  reference: string;
  challengeId: string;
  ledgerEntry: string;
  credits: number;
}

/** Sells credits to programs, in answer to a response for lack of credits. */
export interface TopUpService {
  /** Returns a challenge to buy at least as many credits as are missing; null if the account permits no such payment. */
  challengeFor(account: Account, missing: number, transport: Transport): Challenge | null;
  /**
   * Charges the payment token of a credential, and adds the credits. Can be repeated: a challenge is paid once, also if the
   * process was killed before.
   *
   * @throws ServiceError insufficient_credits if the payment was refused; tool_unavailable if it is not known whether it succeeded;
   *   rate_limited
   */
  pay(account: Account, credential: unknown, transport: Transport): Promise<PaymentReceipt>;
}

interface Dependencies {
  topUps: Pick<TopUps, 'find' | 'begin' | 'complete' | 'fail'>;
  payments: Pick<Payments, 'record'>;
  /** Finds the ledger entry of a purchase. */
  findEntry(accountId: string, paymentId: string): Promise<{ _id: string; at: Date } | null>;
  stripe: Pick<StripeService, 'chargeToken'>;
  /** Counts a payment. @throws ServiceError rate_limited above the limit */
  limitPayments(accountId: string): Promise<void>;
  keyring: Keyring;
  packs: readonly Pack[];
  /** Id of the operator's profile in Stripe's network. */
  networkId: string;
  publicUrl(): string;
}

/** How long a challenge can be answered. */
const VALID_MS = 600_000;
/**
 * How long after its begin a payment can be continued: less than the 24 hours for which Stripe keeps idempotency keys.
 * Source: https://docs.stripe.com/api/idempotent_requests
 */
const CONTINUED_MS = 12 * 3_600_000;

const refused = (why: string): ServiceError =>
  new ServiceError('insufficient_credits', {
    detail: `The payment was refused: ${why} This request has paid nothing.`,
  });

const proofOf = (token: string): string => createHash('sha256').update(token).digest('base64url');

export function createTopUpService(deps: Dependencies): TopUpService {
  const { topUps, payments, stripe, keyring, networkId, publicUrl } = deps;
  const packs = deps.packs.toSorted((a, b) => a.credits - b.credits);
  const headerOf = (transport: Transport) => (transport === 'http' ? CREDENTIAL_HEADER : undefined);

  /** Begins the payment of a challenge, or finds the one that was begun before. */
  async function begin(
    account: Account,
    { challengeId, expires, credits, token }: Credential,
  ): Promise<TopUpDoc> {
    const known = await retryStore(() => topUps.find(challengeId));
    if (known === null && expires <= new Date()) throw refused('the challenge has expired.');
    const topUp = { _id: challengeId, accountId: account._id, credits, proof: proofOf(token) };
    // Before the payment counts in the ceiling, so that one that is refused here counts nowhere.
    if (known?.state !== 'paid') await deps.limitPayments(account._id);
    const begun = known ?? (await retryStore(() => topUps.begin(topUp)));
    if (begun === null) throw refused('it would exceed the monthly ceiling of the account.');
    if (begun.proof !== topUp.proof) throw refused('the challenge was answered with another token.');
    if (begun.state === 'failed') throw refused('the challenge was answered before.');
    if (begun.state === 'pending' && Date.now() - begun.at.getTime() > CONTINUED_MS)
      throw refused('the challenge has expired.');
    return begun;
  }

  /** Takes the money and adds the credits. Each step can be repeated, and changes nothing then. @returns the id of the payment */
  async function charge(credential: Credential): Promise<string> {
    const { challengeId, accountId, credits, amount, currency } = credential;
    const reference = `${challengeId}_${proofOf(credential.token)}`;
    const charged = await stripe.chargeToken({ ...credential, reference });
    if (charged.state === 'refused') {
      await retryStore(() => topUps.fail(challengeId));
      throw refused(charged.reason);
    }
    const { paymentId, isTest: test } = charged;
    const fact = { kind: 'paid', accountId, credits, amount, test } as const;
    const report = { paymentId, source: challengeId, currency, fact };
    const { status } = await retryStore(() => payments.record(report));
    if (status === 'mismatch') throw new Error(`payment ${paymentId} contradicts an earlier event`);
    await retryStore(() => topUps.complete(challengeId, paymentId));
    return paymentId;
  }

  return {
    challengeFor(account, missing, transport) {
      const { topUps: allowed } = account;
      if (allowed === undefined || account.shortfall > 0) return null;
      const now = new Date();
      const left = allowed.ceiling - (allowed.month === monthOf(now) ? allowed.credits : 0);
      const pack = packs.find(({ credits }) => credits >= missing);
      if (pack === undefined || pack.credits > left) return null;
      const header = headerOf(transport);
      return signChallenge(keyring, {
        realm: new URL(publicUrl()).host,
        method: 'stripe',
        intent: 'charge',
        request: {
          amount: String(pack.amount),
          currency: pack.currency.toLowerCase(),
          description: creditsOf(pack.credits),
          methodDetails: { networkId, paymentMethodTypes: ['card'] },
        },
        expires: new Date(now.getTime() + VALID_MS).toISOString(),
        ...(header !== undefined && { header }),
        opaque: { account: account._id, credits: String(pack.credits) },
      });
    },

    async pay(account, value, transport) {
      const credential = readCredential(keyring, value, headerOf(transport));
      if (credential === null || credential.accountId !== account._id)
        throw refused('it answers no challenge of this account.');
      const { challengeId, credits } = credential;
      const { paymentId } = await begin(account, credential);
      const reference = paymentId ?? (await charge(credential));
      const entry = await retryStore(() => deps.findEntry(account._id, reference));
      if (entry === null) throw new Error(`payment ${reference} has no ledger entry`);
      return {
        status: 'success',
        method: 'stripe',
        timestamp: entry.at.toISOString(),
        reference,
        challengeId,
        ledgerEntry: entry._id,
        credits,
      };
    },
  };
}
