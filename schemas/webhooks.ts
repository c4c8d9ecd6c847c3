import { listOf, PAGE } from './lists.ts';
import { defineOperation, type Operation } from './operation.ts';
import {
  attempt,
  newWebhook,
  newWebhookBody,
  resendBody,
  resent,
  rotateBody,
  rotatedSecret,
  testBody,
  webhook,
  webhookChangeBody,
} from './webhookRows.ts';

/** Fields common to the operations of the Account API on webhook endpoints. */
const common = { tag: 'Webhook endpoints', auth: 'account' } as const;
const PATH = '/api/v1/account/webhooks';
const pageQuery = { type: 'object', properties: PAGE, required: [], additionalProperties: false } as const;
const TARGET = ['target_refused', 'host_not_found', 'target_failed', 'target_timeout'] as const;

export const listWebhooks = defineOperation({
  ...common,
  id: 'listWebhooks',
  method: 'get',
  path: PATH,
  summary: 'List webhook endpoints',
  query: pageQuery,
  success: { status: 200, schema: listOf(webhook) },
  errors: [],
});

export const createWebhook = defineOperation({
  ...common,
  id: 'createWebhook',
  method: 'post',
  path: PATH,
  summary: 'Register a webhook endpoint',
  description:
    'The host must be public, which is checked at registration and at each attempt. `localhost` is accepted for testing. ' +
    'The response contains the signing secret, which is shown only once. An account has at most 10 endpoints.',
  body: newWebhookBody,
  success: { status: 201, schema: newWebhook },
  errors: ['limit_reached', ...TARGET],
});

export const getWebhook = defineOperation({
  ...common,
  id: 'getWebhook',
  method: 'get',
  path: `${PATH}/{id}`,
  summary: 'Get a webhook endpoint',
  success: { status: 200, schema: webhook },
  errors: ['not_found'],
});

export const changeWebhook = defineOperation({
  ...common,
  id: 'changeWebhook',
  method: 'patch',
  path: `${PATH}/{id}`,
  summary: 'Change the URL or the events',
  body: webhookChangeBody,
  success: { status: 200, schema: webhook },
  errors: ['not_found', ...TARGET],
});

export const deleteWebhook = defineOperation({
  ...common,
  id: 'deleteWebhook',
  method: 'delete',
  path: `${PATH}/{id}`,
  summary: 'Delete a webhook endpoint',
  description: 'Its undelivered events are marked failed.',
  success: { status: 204 },
  errors: ['not_found'],
});

export const testWebhook = defineOperation({
  ...common,
  id: 'testWebhook',
  method: 'post',
  path: `${PATH}/{id}/test`,
  summary: 'Send a test event',
  description:
    'Sends one event at once, without retries: `webhook.test`, or another kind with example data. The id of a test event ' +
    'begins with `evt_test_`; nothing in the account changes. The response is the attempt, even if the receiver failed. ' +
    'A failed test counts as a failed attempt. An account may send 60 tests a minute, in bursts of at most 20. Above that, or ' +
    'when ten requests for the endpoint are running, the response is 429 and nothing is posted.',
  body: testBody,
  success: { status: 200, schema: attempt },
  errors: ['not_found', 'endpoint_disabled', 'pool_busy'],
});

export const enableWebhook = defineOperation({
  ...common,
  id: 'enableWebhook',
  method: 'post',
  path: `${PATH}/{id}/enable`,
  summary: 'Enable a webhook endpoint',
  description:
    'Resets the failure count of the endpoint; attempts that started earlier no longer count. Deliveries that were held while it was disabled stay held until they are resent.',
  success: { status: 200, schema: webhook },
  errors: ['not_found', 'pool_busy'],
});

export const rotateSecret = defineOperation({
  ...common,
  id: 'rotateSecret',
  method: 'post',
  path: `${PATH}/{id}/rotate-secret`,
  summary: 'Rotate the signing secret',
  description:
    'For 24 hours, or until the new secret is activated, `X-Service-Signature` uses the old secret and ' +
    '`webhook-signature` carries signatures of both. Then only the new secret is used.',
  body: rotateBody,
  success: { status: 200, schema: rotatedSecret },
  errors: ['not_found', 'rotation_pending'],
});

export const activateSecret = defineOperation({
  ...common,
  id: 'activateSecret',
  method: 'post',
  path: `${PATH}/{id}/activate-secret`,
  summary: 'Activate the new signing secret',
  description: 'Uses only the new secret from now on. Without a pending rotation, nothing changes.',
  success: { status: 200, schema: webhook },
  errors: ['not_found'],
});

export const resendDeliveries = defineOperation({
  ...common,
  id: 'resendDeliveries',
  method: 'post',
  path: `${PATH}/{id}/resend`,
  summary: 'Resend deliveries',
  description:
    'Queues deliveries of the last 14 days again, ten per second: either the held and failed ones of events since a given time, ' +
    'or those with the given ids, which may also be delivered ones or wait for their next attempt. A waiting delivery keeps its place ' +
    'in the retry schedule. A single id is attempted at once, even during the pause after a failed attempt. Deliveries that are ' +
    'being attempted and test events are not resent. An account can resend and test 2,000 deliveries in 24 hours; of more, the oldest ' +
    'are queued.',
  body: resendBody,
  success: { status: 200, schema: resent },
  errors: ['not_found', 'endpoint_disabled', 'pool_busy'],
});

export const listAttempts = defineOperation({
  ...common,
  id: 'listAttempts',
  method: 'get',
  path: `${PATH}/{id}/attempts`,
  summary: 'List the attempts of a webhook endpoint',
  query: pageQuery,
  success: { status: 200, schema: listOf(attempt) },
  errors: ['not_found'],
});

export const WEBHOOK_OPERATIONS: readonly Operation[] = [
  listWebhooks,
  createWebhook,
  getWebhook,
  changeWebhook,
  deleteWebhook,
  testWebhook,
  enableWebhook,
  rotateSecret,
  activateSecret,
  resendDeliveries,
  listAttempts,
];
