import { defineOperation, type Operation } from './operation.ts';

/** The signed receipts of calls, and the keys with which they are verified. Routes and reference derive from this file. */
const text = (description: string) => ({ type: 'string', description }) as const;

export const callReceipt = {
  type: 'object',
  properties: {
    receipt: text(
      'The receipt as a JWS in compact serialization (RFC 7515), signed with Ed25519 (`EdDSA`). Its payload is JSON; see [receipts](/docs/receipts).',
    ),
    inputKey: {
      type: ['string', 'null'],
      description:
        'Key of `inputDigest` in base64url. Pass it on only with the input: without it, the digest tells nothing. Null if the receipt has no digests.',
    },
    outputKey: {
      type: ['string', 'null'],
      description: 'Key of `outputDigest` in base64url, as `inputKey`.',
    },
  },
  required: ['receipt', 'inputKey', 'outputKey'],
  additionalProperties: false,
} as const;

const publicKey = {
  type: 'object',
  properties: {
    kty: { type: 'string', const: 'OKP', description: 'Type of the key (RFC 8037).' },
    crv: { type: 'string', const: 'Ed25519', description: 'Curve of the key.' },
    alg: { type: 'string', const: 'EdDSA', description: 'Algorithm of the signatures.' },
    use: { type: 'string', const: 'sig', description: 'The key is for signatures.' },
    kid: text('Id of the key, which the header of a receipt names: its thumbprint (RFC 7638).'),
    x: text('The public key in base64url.'),
  },
  required: ['kty', 'crv', 'alg', 'use', 'kid', 'x'],
  additionalProperties: false,
} as const;

export const getReceipt = defineOperation({
  id: 'getReceipt',
  method: 'get',
  path: '/api/v1/account/calls/{id}/receipt',
  summary: 'Get the signed receipt of a call',
  description:
    'Signs a receipt of a charged call: call id, tool, price, times, and digests of input and output. `{id}` is the id of the call, or the ' +
    '`X-Request-Id` of the response with its result. A call that was not charged, or whose price was returned, has none (`not_found`). ' +
    'While the call runs or its response is being sent, the response is `not_finished`. [Receipts](/docs/receipts) shows how to verify one.',
  tag: 'Account',
  auth: 'account',
  success: { status: 200, schema: callReceipt },
  errors: ['not_found', 'not_finished'],
});

export const getReceiptKeys = defineOperation({
  id: 'getReceiptKeys',
  method: 'get',
  path: '/.well-known/jwks.json',
  summary: 'Get the keys that verify receipts',
  description:
    'The public keys of [receipts](/docs/receipts) as a JSON Web Key Set (RFC 7517). A new key is published ten minutes before it signs.',
  tag: 'Service',
  auth: 'none',
  success: {
    status: 200,
    schema: {
      type: 'object',
      properties: { keys: { type: 'array', items: publicKey, description: 'All keys that are in use.' } },
      required: ['keys'],
      additionalProperties: false,
    },
  },
  errors: [],
});

export const RECEIPT_OPERATIONS: readonly Operation[] = [getReceipt, getReceiptKeys];
