import test from 'ava';
import { attribute, type Evidence } from './attribution/attribute.ts';
import type { Observation } from './attribution/callers.ts';
import { type Kind, RACE_KINDS } from './attribution/kinds.ts';

const AT = '2026-01-31T09:30:00.000Z';

type Call = Evidence['records']['calls'][number];
type Entry = Evidence['records']['entries'][number];

function hashText(): Kind {
  const kind = RACE_KINDS.find(({ tool }) => tool === 'hash-text');
  if (kind === undefined) throw new Error('no hash-text');
  return kind;
}

const observation = (
  id: string,
  key: string | null,
  response: Partial<NonNullable<Observation['response']>> | null,
): Observation => ({
  accountId: 'acc',
  keyPrefix: 'ut_1',
  id,
  kind: hashText(),
  key,
  through: 'http',
  api: 'api',
  hungUp: false,
  isLost: false,
  endedAt: 0,
  response: response && {
    status: 200,
    code: null,
    requestId: `req_${id}`,
    charged: '1',
    replayed: false,
    digest: id,
    isRight: true,
    ...response,
  },
});
const call = (id: string, overrides: Partial<Call> = {}): Call => ({
  id,
  tool: 'hash-text',
  cost: 1,
  charged: 1,
  state: 'charged',
  code: null,
  startedAt: AT,
  durationMs: 1,
  keyPrefix: 'ut_1',
  phases: null,
  resultFrom: null,
  ...overrides,
});
const entry = (id: string, overrides: Partial<Entry>): Entry => ({
  id,
  at: AT,
  type: 'charge',
  amount: -1,
  balanceAfter: 0,
  callId: null,
  tool: null,
  source: null,
  reference: null,
  ...overrides,
});

/**
 * The evidence of an account without faults: a result without an Idempotency-Key, a result that was requested twice
 * with the same key, an error, and a disconnect.
 */
function evidence(): Evidence {
  const data = { balance: 24, threshold: 25, message: 'low' };
  return {
    credits: 26,
    topUpRuns: new Map(),
    observations: [
      observation('a', null, {}),
      observation('b', 'b', {}),
      observation('b', 'b', { requestId: 'req_b2', charged: '0', replayed: true }),
      observation('c', null, { status: 500, code: 'internal', charged: '0' }),
      { ...observation('d', null, null), hungUp: true },
    ],
    origins: new Map(
      ['a', 'b', 'c', 'd'].map((id) => [id, { requestId: `req_${id}`, key: id === 'b' ? 'b' : null }]),
    ),
    posts: new Map(),
    records: {
      account: {
        id: 'acc',
        email: 'a@example.com',
        balance: 24,
        reserved: 0,
        available: 24,
        lowThreshold: 25,
        monthlyAllowance: 0,
      },
      calls: [
        call('a'),
        call('b'),
        call('c', { charged: 0, state: 'refunded', code: 'internal' }),
        call('d', { charged: 0, state: 'refunded', code: 'cancelled' }),
      ],
      entries: [
        entry('1', { type: 'signup', amount: 26, balanceAfter: 26 }),
        entry('2', { callId: 'a', balanceAfter: 25 }),
        entry('3', { callId: 'b', balanceAfter: 24 }),
      ],
      events: [
        {
          id: 'evt',
          event: 'credits.low',
          createdAt: AT,
          data,
          test: false,
          deliveries: [{ id: 'dlv', endpointId: 'whe', state: 'delivered', attempts: 1, nextAt: null }],
        },
      ],
    },
    deliveries: [
      { at: 0, path: '/acc', headers: {}, body: JSON.stringify({ data }), id: 'evt', event: 'credits.low' },
    ],
    keyChanges: [],
    wasKilledAfter: () => false,
  };
}

const falsifications: Record<string, (evidence: Evidence) => unknown> = {
  'a charge without an entry': ({ records }) => records.entries.splice(1, 1),
  'a charge without a call': ({ records }) => records.calls.splice(0, 1),
  'a second charge of a call': ({ records }) => {
    records.entries.push(entry('4', { callId: 'a', balanceAfter: 23 }));
    records.account.balance = 23;
  },
  'a charged error': ({ records }) => {
    records.entries.push(entry('4', { callId: 'c', balanceAfter: 23 }));
    records.calls[2] = call('c');
    records.account.balance = 23;
  },
  'a result that was not charged': ({ records }) => {
    records.entries.splice(1, 2, entry('3', { callId: 'b', balanceAfter: 25 }));
    records.calls[0] = call('a', { charged: 0, state: 'refunded', code: 'internal' });
    records.account.balance = 25;
    records.events.pop();
  },
  'a refund of a result that was received': ({ records }) => {
    records.entries.push(
      entry('4', { type: 'adjustment', amount: 1, balanceAfter: 25, reference: 'call a' }),
    );
    records.account.balance = 25;
  },
  'a charge for a result that was lost on its connection': ({ records, observations }) => {
    const lost = observations.at(-1);
    if (lost !== undefined) lost.isLost = true;
    records.entries.push(entry('4', { callId: 'd', balanceAfter: 23 }));
    records.calls[3] = call('d');
    records.account.balance = 23;
  },
  'a call without a request': ({ records }) => {
    records.calls.push(call('e', { charged: 0, state: 'refunded', code: 'internal' }));
  },
  'a balance that no entry explains': ({ records }) => {
    records.account.balance = 20;
  },
  'reserved credits': ({ records }) => {
    records.account.reserved = 1;
  },
  'a call that still runs': ({ records }) => {
    records.calls[3] = call('d', { charged: 0, state: 'running' });
  },
  'an event that was not created': ({ records }) => records.events.pop(),
};

test('the evidence of an account without faults is accepted', (t) => {
  t.deepEqual(attribute(evidence()).violations, []);
});

for (const [name, falsify] of Object.entries(falsifications))
  test(`${name} is reported`, (t) => {
    const falsified = evidence();
    falsify(falsified);
    t.not(attribute(falsified).violations.length, 0);
  });

test('a second charge for the same Idempotency-Key is reported', (t) => {
  const { origins, ...rest } = evidence();
  rest.records.calls.push(call('e'));
  rest.records.entries.push(entry('4', { callId: 'e', balanceAfter: 23 }));
  rest.records.account.balance = 23;
  const more = new Map(origins).set('e', { requestId: 'req_e', key: 'b' });
  t.deepEqual(attribute({ ...rest, origins: more }).violations, [
    'acc: key b (hash-text): 2 calls are charged',
    'acc: key b (hash-text): 2 calls are charged, 2 responses have the result',
  ]);
});

test('a charged result that no later request with the same Idempotency-Key receives is reported', (t) => {
  const { observations, ...rest } = evidence();
  const without = observations.filter(({ key }) => key === null);
  const lost = observation('b', 'b', { status: 500, code: 'internal', charged: '0' });
  t.not(attribute({ ...rest, observations: [...without, lost] }).violations.length, 0);
});

test('a change of an API key without an event is reported', (t) => {
  t.not(attribute({ ...evidence(), keyChanges: ['api_key.created key_1'] }).violations.length, 0);
});

test('an event that was not received is reported', (t) => {
  t.not(attribute({ ...evidence(), deliveries: [] }).violations.length, 0);
});

test('a request that reached the target twice is reported', (t) => {
  const { observations, ...rest } = evidence();
  const acting = observations.map((it) => ({ ...it, kind: { ...it.kind, acts: true } }));
  const posts = new Map([
    ['a', 2],
    ['b', 1],
  ]);
  t.not(attribute({ ...rest, observations: acting, posts }).violations.length, 0);
});
