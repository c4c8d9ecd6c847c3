import { EVENT_KINDS, EVENTS, type EventKind } from '../../schemas/events.ts';

type Json = Record<string, unknown>;

const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
});

const HEADERS: readonly Json[] = [
  header('X-Service-Event', 'Kind of event.'),
  header(
    'X-Service-Timestamp',
    'Unix time in seconds. Reject requests whose time differs from yours by 300 seconds or more.',
  ),
  header(
    'X-Service-Signature',
    '`sha256=` and the lowercase hex HMAC-SHA256 of `<timestamp>.<raw body>`, keyed with the whole signing ' +
      'secret, including the prefix `whsec_`. Compare in constant time.',
  ),
  header('webhook-id', 'Id of the event (Standard Webhooks).'),
  header('webhook-timestamp', 'Unix time in seconds (Standard Webhooks).'),
  header('webhook-signature', 'Signatures `v1,<base64>`, separated by spaces (Standard Webhooks).'),
];

/** JSON Schema of the body of a delivery: the envelope with the event's `data`. */
export const envelope = (kind: EventKind) =>
  ({
    type: 'object',
    properties: {
      id: {
        type: 'string',
        description:
          'Id of the event, the same on every attempt. Ignore an id that you have processed already. The ids of tests begin with `evt_test_`.',
      },
      event: { type: 'string', const: kind, description: 'Kind of event.' },
      createdAt: { type: 'string', format: 'date-time', description: 'When the event occurred.' },
      data: EVENTS[kind].data,
    },
    required: ['id', 'event', 'createdAt', 'data'],
    additionalProperties: false,
  }) as const;

const example = (kind: EventKind): Json => ({
  id: 'evt_c56a4180-65aa-42ec-a945-5fd21dec0538',
  event: kind,
  createdAt: '2026-01-31T09:30:00.000+00:00',
  data: EVENTS[kind].example,
});

const DELIVERED = {
  once:
    'once, when the owner sends a test. Respond with 2xx within 10 seconds. Any other response, including a redirect, is ' +
    'a failed attempt; it counts towards the limit below and is not retried.',
  repeatedly:
    'at least once and in any order. Respond with 2xx within 10 seconds. Any other response, including a redirect, is a ' +
    'failed attempt; it is retried later with the same body and a new signature.',
};

const webhook = (kind: EventKind): Json => ({
  post: {
    operationId: `on${kind.replaceAll(/(?:^|[._])(\w)/g, (_all, letter) => letter.toUpperCase())}`,
    tags: ['Webhooks'],
    summary: EVENTS[kind].summary,
    description: `Delivered ${DELIVERED[kind === 'webhook.test' ? 'once' : 'repeatedly']} After 20 consecutive failed attempts the endpoint is disabled.`,
    security: [],
    parameters: HEADERS,
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: envelope(kind), examples: { example1: { value: example(kind) } } },
      },
    },
    responses: {
      '2XX': { description: 'Delivered.' },
      default: { description: 'The attempt failed. It is retried unless it was a test.' },
    },
  },
});

/** The `webhooks` section of the OpenAPI document: the requests that endpoints receive. */
export const webhooks = (): Json => Object.fromEntries(EVENT_KINDS.map((kind) => [kind, webhook(kind)]));
