import {
  accountDetails,
  call,
  delivery,
  event,
  key,
  keyChangeBody,
  keyRotationBody,
  ledgerEntry,
  newKey,
  newKeyBody,
  refusal,
  timestamp,
} from './accountRows.ts';
import { listOf, PAGE } from './lists.ts';
import { defineOperation, type Operation } from './operation.ts';

/**
 * Operations of the Account API, which offers as JSON what the dashboard offers. Routes and API reference derive from
 * these definitions. The operations on webhook endpoints are in webhooks.ts.
 */
const TAG = 'Account';

const pageQuery = { type: 'object', properties: PAGE, required: [], additionalProperties: false } as const;

export const getAccount = defineOperation({
  id: 'getAccount',
  method: 'get',
  path: '/api/v1/account',
  summary: 'Get balance and settings',
  tag: TAG,
  auth: 'account',
  success: { status: 200, schema: accountDetails },
  errors: [],
});

export const listCalls = defineOperation({
  id: 'listCalls',
  method: 'get',
  path: '/api/v1/account/calls',
  summary: 'List calls',
  description:
    'With `Accept: text/csv` the response has all matching calls as a CSV file (RFC 4180) with a header line, and a column ' +
    "for each phase, such as `runMs`; `limit` and `cursor` are ignored. Text that a spreadsheet would interpret as a formula is prefixed with `'`.",
  tag: TAG,
  auth: 'account',
  query: {
    type: 'object',
    properties: {
      tool: { type: 'string', maxLength: 100, description: 'Only calls of this tool.' },
      state: { ...call.properties.state, description: 'Only calls in this state.' },
      key: {
        type: 'string',
        maxLength: 100,
        description: 'Only calls with the key of this id; `dashboard`: only calls from the dashboard.',
      },
      from: { ...timestamp, description: 'Only calls accepted at this time or later.' },
      to: { ...timestamp, description: 'Only calls accepted before this time.' },
      ...PAGE,
    },
    required: [],
    additionalProperties: false,
  },
  success: { status: 200, schema: listOf(call), alsoAs: ['text/csv'] },
  errors: [],
});

export const listRefusals = defineOperation({
  id: 'listRefusals',
  method: 'get',
  path: '/api/v1/account/refusals',
  summary: 'List refused requests',
  description:
    'Requests with a key that were refused before they became a call: with an invalid input, without enough credits, above a limit, or with a key ' +
    'that is revoked or not permitted. A row counts the requests of an hour with the same key, tool and code. Rows are kept for 7 days, at most ' +
    '500 of an account, and contain no input. New requests appear within 5 seconds.',
  tag: TAG,
  auth: 'account',
  query: pageQuery,
  success: { status: 200, schema: listOf(refusal) },
  errors: [],
});

export const listLedger = defineOperation({
  id: 'listLedger',
  method: 'get',
  path: '/api/v1/account/ledger',
  summary: 'List ledger entries',
  description:
    'An entry is a change of the balance. With `Accept: text/csv` the response is the whole ledger as a CSV file ' +
    '(RFC 4180) with a header line and the same fields as columns; `limit` and `cursor` are ignored. Text that a spreadsheet ' +
    "would interpret as a formula is prefixed with `'`.",
  tag: TAG,
  auth: 'account',
  query: pageQuery,
  success: { status: 200, schema: listOf(ledgerEntry), alsoAs: ['text/csv'] },
  errors: [],
});

export const listKeys = defineOperation({
  id: 'listKeys',
  method: 'get',
  path: '/api/v1/account/keys',
  summary: 'List API keys, including revoked ones',
  tag: TAG,
  auth: 'account',
  query: pageQuery,
  success: { status: 200, schema: listOf(key) },
  errors: [],
});

export const createKey = defineOperation({
  id: 'createKey',
  method: 'post',
  path: '/api/v1/account/keys',
  summary: 'Create an API key',
  description: 'The response contains the key, which is shown only once. Fires `api_key.created`.',
  tag: TAG,
  auth: 'account',
  body: newKeyBody,
  success: { status: 201, schema: newKey },
  errors: ['limit_reached'],
});

export const getKey = defineOperation({
  id: 'getKey',
  method: 'get',
  path: '/api/v1/account/keys/{id}',
  summary: 'Get an API key',
  tag: TAG,
  auth: 'account',
  success: { status: 200, schema: key },
  errors: ['not_found'],
});

export const changeKey = defineOperation({
  id: 'changeKey',
  method: 'patch',
  path: '/api/v1/account/keys/{id}',
  summary: 'Change an API key',
  description:
    'Changes the fields that the body contains. The change applies to calls that are accepted afterwards. Fires `api_key.changed`.',
  tag: TAG,
  auth: 'account',
  body: keyChangeBody,
  success: { status: 200, schema: key },
  errors: ['not_found', 'key_inactive'],
});

export const rotateKey = defineOperation({
  id: 'rotateKey',
  method: 'post',
  path: '/api/v1/account/keys/{id}/rotate',
  summary: 'Rotate the secret of an API key',
  description:
    'The response contains the new secret in `key`, which is shown only once. The old secret stays valid for `overlapHours`. Both have the same limits and the same spend, and revoking the key ends both. Fires `api_key.rotated`.',
  tag: TAG,
  auth: 'account',
  body: keyRotationBody,
  success: { status: 200, schema: newKey },
  errors: ['not_found', 'key_inactive', 'rotation_pending'],
});

export const revokeKey = defineOperation({
  id: 'revokeKey',
  method: 'delete',
  path: '/api/v1/account/keys/{id}',
  summary: 'Revoke an API key',
  description:
    'Requests with the key fail from now on; a key cannot be restored. Revoking it again changes nothing. Fires `api_key.revoked`.',
  tag: TAG,
  auth: 'account',
  success: { status: 204 },
  errors: ['not_found'],
});

export const listEvents = defineOperation({
  id: 'listEvents',
  method: 'get',
  path: '/api/v1/account/events',
  summary: 'List events and their deliveries',
  tag: TAG,
  auth: 'account',
  query: {
    type: 'object',
    properties: {
      event: { ...event.properties.event, description: 'Only events of this kind.' },
      state: { ...delivery.properties.state, description: 'Only events with a delivery in this state.' },
      ...PAGE,
    },
    required: [],
    additionalProperties: false,
  },
  success: { status: 200, schema: listOf(event) },
  errors: [],
});

export const ACCOUNT_OPERATIONS: readonly Operation[] = [
  getAccount,
  listCalls,
  listRefusals,
  listLedger,
  listKeys,
  createKey,
  getKey,
  changeKey,
  rotateKey,
  revokeKey,
  listEvents,
];
