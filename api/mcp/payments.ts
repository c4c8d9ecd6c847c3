import { type CallToolResult, ProtocolError } from '@modelcontextprotocol/server';
import type { ServiceError } from '../../schemas/errors.ts';
import { problemBody } from '../http/problem.ts';
import type { Challenge } from '../topUps/challenge.ts';
import type { PaymentReceipt } from '../topUps/topUpService.ts';
import { refusal } from './results.ts';

/** Key of a credential in `_meta` of a request. */
export const CREDENTIAL_KEY = 'org.paymentauth/credential';
const RECEIPT_KEY = 'org.paymentauth/receipt';
/** Key of a challenge in `_meta` of a result. */
const REQUIRED_KEY = 'org.paymentauth/payment-required';
/** Codes of the draft for JSON-RPC: a payment is required, and a payment was refused. */
const PAYMENT_REQUIRED = -32_042;
const PAYMENT_REFUSED = -32_043;
/** The first revision of MCP in which the code -32042 has another meaning, so that servers cannot use it. */
const WITHOUT_CODE = '2026-07-28';

interface Refused {
  challenge: Challenge;
  error: ServiceError;
  requestId: string;
  /** Whether the request had a credential, which was then refused. */
  wasPaid: boolean;
  /** Revision of the protocol, as the client states it; empty if it does not. */
  revision: string;
}

/**
 * Ends a call for lack of credits that can be paid (draft-payment-transport-mcp-00): with an error of JSON-RPC, or, in newer
 * revisions, with a refused result whose `_meta` has the same data.
 *
 * @throws ProtocolError
 */
export function offerPayment({ challenge, error, requestId, wasPaid, revision }: Refused): CallToolResult {
  const data = {
    httpStatus: 402,
    challenges: [{ ...challenge, description: challenge.request.description }],
    problem: problemBody(error, requestId),
    ...(wasPaid && { failure: { detail: error.detail } }),
  };
  if (revision >= WITHOUT_CODE) return { ...refusal(error, requestId), _meta: { [REQUIRED_KEY]: data } };
  throw wasPaid
    ? new ProtocolError(PAYMENT_REFUSED, 'Payment Verification Failed', data)
    : new ProtocolError(PAYMENT_REQUIRED, 'Payment Required', data);
}

/** Adds the receipt for the payment to the result of a call. */
export const withReceipt = (result: CallToolResult, receipt: PaymentReceipt): CallToolResult => ({
  ...result,
  _meta: { ...result._meta, [RECEIPT_KEY]: receipt },
});
