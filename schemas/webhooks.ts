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
  webhook,
  webhookChangeBody,
} from './webhookRows.ts';

/** The part of the Account API that deals with webhook endpoints. */
const common = { tag: 'Webhook endpoints', auth: 'account' } as const;
const PATH = '/api/v1/account/webhooks';
const pageQuery = { type: 'object', properties: PAGE, required: [], additionalProperties: false } as const;
const TARGET = ['target_refused', 'host_not_found', 'target_failed', 'target_timeout'] as const;

export const listWebhooks = defineOperation({
  ...common,
  id: 'listWebhooks',
  method: 'get',
  path: PATH,
  summary: 'Webhook endpoints',
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
    'Its address must be public; it is looked up now and again at each attempt. `localhost` may be registered for ' +
    'testing. The answer is the only place where the signing secret is ever shown. At most 10 an account.',
  body: newWebhookBody,
  success: { status: 201, schema: newWebhook },
  errors: ['limit_reached', ...TARGET],
});

export const getWebhook = defineOperation({
  ...common,
  id: 'getWebhook',
  method: 'get',
  path: `${PATH}/{id}`,
  summary: 'A webhook endpoint',
  success: { status: 200, schema: webhook },
  errors: ['not_found'],
});

export const changeWebhook = defineOperation({
  ...common,
  id: 'changeWebhook',
  method: 'patch',
  path: `${PATH}/{id}`,
  summary: 'Change address or kinds of event',
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
  description: 'What was still to be delivered to it has failed then.',
  success: { status: 204 },
  errors: ['not_found'],
});

export const testWebhook = defineOperation({
  ...common,
  id: 'testWebhook',
  method: 'post',
  path: `${PATH}/{id}/test`,
  summary: 'Send a test',
  description:
    'One `webhook.test` event, attempted at once and never again. The answer is its attempt, also when the receiver ' +
    'failed; that counts like any other failure. An account may send 60 tests a minute, 20 of them at once; beyond ' +
    'that, or when ten requests for the endpoint are running, the answer is 429 and nothing is posted.',
  success: { status: 200, schema: attempt },
  errors: ['not_found', 'endpoint_disabled', 'pool_busy'],
});

export const enableWebhook = defineOperation({
  ...common,
  id: 'enableWebhook',
  method: 'post',
  path: `${PATH}/{id}/enable`,
  summary: 'Enable an endpoint',
  description:
    'It starts from 0 failures; results of attempts from before no longer count. What was held stays held until it is ' +
    'resent.',
  success: { status: 200, schema: webhook },
  errors: ['not_found', 'pool_busy'],
});

export const rotateSecret = defineOperation({
  ...common,
  id: 'rotateSecret',
  method: 'post',
  path: `${PATH}/{id}/rotate-secret`,
  summary: 'Make a new signing secret',
  description:
    'For 24 hours, or until the new secret is activated, `X-Service-Signature` still uses the old one and ' +
    '`webhook-signature` carries both; then the new one alone.',
  body: rotateBody,
  success: { status: 200, schema: rotatedSecret },
  errors: ['not_found', 'rotation_pending'],
});

export const activateSecret = defineOperation({
  ...common,
  id: 'activateSecret',
  method: 'post',
  path: `${PATH}/{id}/activate-secret`,
  summary: 'Use the new signing secret alone',
  description: 'Where none is waiting, nothing changes.',
  success: { status: 200, schema: webhook },
  errors: ['not_found'],
});

export const resendDeliveries = defineOperation({
  ...common,
  id: 'resendDeliveries',
  method: 'post',
  path: `${PATH}/{id}/resend`,
  summary: 'Resend what was held or failed',
  description:
    'Held and failed deliveries of the last 14 days, of events since a time or by their ids, are queued again, ten a ' +
    'second. Tests are not resent.',
  body: resendBody,
  success: { status: 200, schema: resent },
  errors: ['not_found', 'endpoint_disabled', 'pool_busy'],
});

export const listAttempts = defineOperation({
  ...common,
  id: 'listAttempts',
  method: 'get',
  path: `${PATH}/{id}/attempts`,
  summary: 'Attempts to deliver',
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
