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
    'Unix time in seconds. Reject deliveries that are 300 seconds or more away from now.',
  ),
  header(
    'X-Service-Signature',
    '`sha256=` and the lowercase hex HMAC-SHA256 of `<timestamp>.<raw body>`, keyed with the signing secret as it was ' +
      'shown (`whsec_…`, the whole string). Compare in constant time.',
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
          'Id of the event, the same on every attempt. Ignore an id that you have processed already.',
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
    'once, when the owner sends a test. Answer 2xx within 10 seconds. Anything else, including a redirect, is a failed ' +
    'attempt, which counts but is not retried.',
  again:
    'at least once and in any order. Answer 2xx within 10 seconds. Anything else, including a redirect, is a failed ' +
    'attempt and retried later, with the same body and a new signature.',
};

const webhook = (kind: EventKind): Json => ({
  post: {
    operationId: `on${kind.replaceAll(/(?:^|[._])(\w)/g, (_all, letter) => letter.toUpperCase())}`,
    tags: ['Webhooks'],
    summary: EVENTS[kind].summary,
    description: `Delivered ${DELIVERED[kind === 'webhook.test' ? 'once' : 'again']} After 20 consecutive failed attempts the endpoint is disabled.`,
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
      default: { description: 'Failed. Retried, except for a test.' },
    },
  },
});

/** The `webhooks` section of the OpenAPI document: the requests that endpoints receive. */
export const webhooks = (): Json => Object.fromEntries(EVENT_KINDS.map((kind) => [kind, webhook(kind)]));
