import { recordAt } from '../../helpers/json.ts';
import { PRICES } from '../../helpers/prices.ts';
import type { Delivery } from '../../helpers/receiver.ts';
import type { Observation } from './callers.ts';
import type { Records } from './records.ts';

/** Everything known about one account at the end. */
export interface Evidence {
  /** Credits at its creation. */
  credits: number;
  /** Credits that the test added, by reference. */
  topUps: ReadonlyMap<string, number>;
  /** In the order in which the responses arrived. */
  observations: readonly Observation[];
  records: Records;
  /** Request id and Idempotency-Key of each call, by call id. */
  origins: ReadonlyMap<string, { requestId: string; key: string | null }>;
  /** Number of requests that the target received, by call. */
  posts: ReadonlyMap<string, number>;
  deliveries: readonly Delivery[];
  /** Changes of API keys that were confirmed to their owner, such as `api_key.created key_…`. */
  keyChanges: readonly string[];
  /** Whether the API process was killed so soon after a response that it may not have recorded the delivery. */
  wasKilledAfter(observation: Observation): boolean;
}

export interface Attribution {
  /** Promises that were broken; empty if every credit is attributed. */
  violations: string[];
  calls: number;
  /** Charged calls whose price was returned because the result was not received. */
  returned: number;
  /** Results that were received although their price was returned, because the API process was killed right afterwards. */
  free: number;
}

/** Errors that any call can get while something is broken. */
const TRANSIENT = ['internal', 'tool_unavailable', 'pool_busy', 'deadline_exceeded', 'insufficient_credits'];
/** From the service's specification. */
const LOW_CREDITS = 25;
/** Name of the keys that are older than the account's endpoint, which does not get their events. */
const EARLY_KEY = 'test';

type Call = Records['calls'][number];
type Expect = (isTrue: boolean, violation: string) => void;

/** Checks the statement and the list of calls against each other. @returns the credits that each call cost in the end */
function checkStatement({ credits, topUps, records }: Evidence, expect: Expect): Map<string, number> {
  const { account, calls, entries } = records;
  const callOf = new Map(calls.map((call) => [call.id, call]));
  const paid = new Map<string, number>();
  const returned = new Map<string, number>();
  const added = new Map<string, number>();
  let balance = 0;
  for (const { id, type, amount, balanceAfter, callId, reference } of entries) {
    const about = `entry ${id} (${type} ${amount})`;
    balance += amount;
    expect(balanceAfter === balance, `${about}: balance ${balanceAfter}, expected ${balance}`);
    expect(balance >= 0, `${about}: balance ${balance}`);
    const returnedCall = /^call (.+)$/.exec(reference ?? '')?.[1];
    if (type === 'charge' && callId !== null) {
      const call = callOf.get(callId);
      expect(call !== undefined && amount === -(PRICES[call.tool] ?? 0), `${about}: not the price of a call`);
      expect(!paid.has(callId), `${about}: call ${callId} was charged before`);
      paid.set(callId, -amount);
    } else if (type === 'adjustment' && returnedCall !== undefined) {
      expect(amount === paid.get(returnedCall), `${about}: not the price of call ${returnedCall}`);
      expect(!returned.has(returnedCall), `${about}: call ${returnedCall} was refunded before`);
      returned.set(returnedCall, amount);
    } else if (type === 'adjustment' && reference !== null) {
      expect(!added.has(reference), `${about}: ${reference} was added before`);
      added.set(reference, amount);
    } else expect(type === 'signup' && amount === credits, `${about}: not expected`);
  }
  const sorted = (map: ReadonlyMap<string, number>) => JSON.stringify([...map].sort());
  expect(sorted(added) === sorted(topUps), `added ${sorted(added)}, expected ${sorted(topUps)}`);
  expect(account.reserved === 0, `${account.reserved} credits are reserved`);
  for (const { id, tool, cost, charged, state, code } of calls) {
    const about = `call ${id} (${tool} ${state})`;
    expect(state !== 'running', `${about}: still runs`);
    expect(cost === PRICES[tool], `${about}: cost ${cost}`);
    expect(charged === (paid.get(id) ?? 0), `${about}: charged ${charged}, the statement ${paid.get(id)}`);
    expect((state === 'charged') === charged > 0, `${about}: charged ${charged}`);
    expect((state === 'charged') === (code === null), `${about}: code ${code}`);
  }
  const net = new Map(calls.map(({ id, charged }) => [id, charged - (returned.get(id) ?? 0)]));
  const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, number) => total + number, 0);
  const spent = credits + sum(topUps.values()) - account.balance;
  expect(sum(net.values()) === spent, `${sum(net.values())} credits attributed, ${spent} spent`);
  return net;
}

/** Checks each response by itself. */
function checkResponse({ id, key, kind, response }: Observation, expect: Expect): void {
  if (response === null) return;
  const { status, code, charged, replayed, isRight } = response;
  const about = `${id} (${kind.tool} ${status} ${code})`;
  if (status === 200) {
    expect(kind.ending === 'result' && isRight, `${about}: wrong result`);
    expect(!replayed || key !== null, `${about}: replayed without a key`);
    expect(charged === String(replayed ? 0 : PRICES[kind.tool]), `${about}: charged ${charged}`);
  } else {
    const expected = kind.ending === 'result' ? TRANSIENT : [...TRANSIENT, kind.ending];
    expect(code !== null && expected.includes(code), `${about}: unexpected error`);
    expect(charged === null || charged === '0', `${about}: charged ${charged}`);
  }
}

/** Checks the requests of one Idempotency-Key, the last of which was sent when nothing was broken. */
function checkKey(
  [first, ...more]: readonly [Observation, ...Observation[]],
  calls: readonly Call[],
  netOf: (call: Call) => number,
  expect: Expect,
): void {
  const about = `key ${first.key} (${first.kind.tool})`;
  const results = [first, ...more].flatMap(({ response }) => (response?.status === 200 ? [response] : []));
  const charged = calls.filter((call) => netOf(call) > 0);
  expect(charged.length <= 1, `${about}: ${charged.length} calls are charged`);
  expect(
    charged.length === Math.min(1, results.length),
    `${about}: ${charged.length} calls are charged, ${results.length} responses have the result`,
  );
  expect(new Set(results.map(({ digest }) => digest)).size <= 1, `${about}: the results differ`);
  expect(results.filter(({ replayed }) => !replayed).length <= 1, `${about}: two results were not replayed`);
  for (const { tool } of calls) expect(tool === first.kind.tool, `${about}: there is a call of ${tool}`);
}

/** Checks a call without a key whose caller got a complete response. @returns whether the result was free */
function checkUnkeyed(
  observation: Observation,
  call: Call | undefined,
  net: number,
  { wasKilledAfter }: Evidence,
  expect: Expect,
): boolean {
  const { id, kind, response } = observation;
  const about = `${id} (${kind.tool} ${response?.status} ${response?.code}, call ${call?.id})`;
  if (response?.status !== 200) {
    expect(net === 0, `${about}: ${net} credits for an error`);
    return false;
  }
  expect(call?.tool === kind.tool, `${about}: a call of ${call?.tool}`);
  const isFree = net === 0 && call?.state === 'charged' && wasKilledAfter(observation);
  expect(isFree || net === PRICES[kind.tool], `${about}: ${net} credits for a result`);
  return isFree;
}

/** Checks that calls without a complete response are no more than such requests, by API key and tool. */
function checkUnanswered(
  calls: readonly Call[],
  broken: readonly Observation[],
  netOf: (call: Call) => number,
  expect: Expect,
): void {
  const requests = Map.groupBy(broken, ({ keyPrefix, kind }) => `${keyPrefix} ${kind.tool}`);
  for (const [name, rows] of Map.groupBy(calls, ({ keyPrefix, tool }) => `${keyPrefix} ${tool}`)) {
    const sent = requests.get(name) ?? [];
    expect(rows.length <= sent.length, `${name}: ${rows.length} calls, ${sent.length} unanswered requests`);
    const charged = rows.filter((call) => netOf(call) > 0);
    // A disconnect may come after the charge. Otherwise only a call that acts on its target stays charged.
    const payable = sent.filter(({ key, hungUp, kind }) => key === null && (hungUp || kind.acts));
    expect(
      charged.length <= payable.length,
      `${name}: ${charged.map(({ id }) => id)} charged, ${payable.length} may be`,
    );
  }
}

/** Computes the events of the statement, and checks that each event was received. */
function checkEvents({ records, deliveries, keyChanges }: Evidence, expect: Expect): void {
  const due: string[] = [];
  for (const { type, amount, balanceAfter, reference } of records.entries) {
    const before = balanceAfter - amount;
    if (type === 'adjustment') due.push(`credits.granted ${balanceAfter} ${amount} ${reference}`);
    if (type !== 'charge') continue;
    if (before >= LOW_CREDITS && balanceAfter < LOW_CREDITS) due.push(`credits.low ${balanceAfter}`);
    if (balanceAfter === 0) due.push(`credits.exhausted ${balanceAfter}`);
  }
  const [ofCredits, ofKeys] = [true, false].map((isOfCredits) =>
    records.events.flatMap(({ event, data: { balance, amount, reference, keyId } }) =>
      event.startsWith('credits.') === isOfCredits
        ? [[event, balance, amount, reference, keyId].filter((part) => part !== undefined).join(' ')]
        : [],
    ),
  );
  const [expected, found] = [due, ofCredits].map((list) => JSON.stringify(list?.sort()));
  expect(found === expected, `events ${found}, expected ${expected}`);
  // There may be more: changes whose response was lost.
  for (const change of keyChanges) expect(ofKeys?.includes(change) ?? false, `no event ${change}`);

  const received = Map.groupBy(deliveries, ({ id }) => id);
  for (const { id, event, data, createdAt, deliveries: rows } of records.events) {
    if (data.name === EARLY_KEY) continue;
    const about = `event ${id} (${event} of ${createdAt})`;
    const bodies = new Set((received.get(id) ?? []).map(({ body }) => body));
    expect(bodies.size === 1, `${about}: received with ${bodies.size} bodies`);
    for (const body of bodies)
      expect(
        JSON.stringify(recordAt(JSON.parse(body), 'data')) === JSON.stringify(data),
        `${about}: ${body}`,
      );
    const states = rows.map(({ state }) => state).join();
    expect(states === 'delivered', `${about}: deliveries ${states}`);
  }
  const known = new Set(records.events.map(({ id }) => id));
  const unknown = deliveries.filter(({ id }) => !known.has(id));
  expect(unknown.length === 0, `unknown events received: ${unknown.map(({ body }) => body)}`);
}

/** Attributes each credit of an account to a call, and each call to a request. */
export function attribute(evidence: Evidence): Attribution {
  const { observations, origins, posts, records } = evidence;
  const violations: string[] = [];
  const expect: Expect = (isTrue, violation) => {
    if (!isTrue) violations.push(`${records.account.id}: ${violation}`);
  };
  const net = checkStatement(evidence, expect);
  const netOf = ({ id }: Call) => net.get(id) ?? 0;
  for (const observation of observations) checkResponse(observation, expect);

  const keyOfRequest = new Map(
    observations.flatMap(({ key, response }) => (response === null ? [] : [[response.requestId, key]])),
  );
  const keyOf = ({ id }: Call) => {
    const origin = origins.get(id);
    return origin?.key ?? keyOfRequest.get(origin?.requestId ?? '') ?? null;
  };
  const callsOfKey = Map.groupBy(records.calls, keyOf);
  for (const [key, [first, ...more]] of Map.groupBy(observations, (it) => it.key))
    if (key !== null && first !== undefined)
      checkKey([first, ...more], callsOfKey.get(key) ?? [], netOf, expect);

  const unkeyed = new Map(
    (callsOfKey.get(null) ?? []).map((call) => [origins.get(call.id)?.requestId, call]),
  );
  let free = 0;
  for (const observation of observations) {
    if (observation.key !== null || observation.response === null) continue;
    const call = unkeyed.get(observation.response.requestId);
    unkeyed.delete(observation.response.requestId);
    free += Number(checkUnkeyed(observation, call, call ? netOf(call) : 0, evidence, expect));
  }
  checkUnanswered(
    [...unkeyed.values()],
    observations.filter(({ response }) => response === null),
    netOf,
    expect,
  );

  for (const { id, kind, response } of observations)
    if (kind.acts) {
      const count = posts.get(id) ?? 0;
      expect(count <= 1 && (count === 1 || response?.status !== 200), `${id}: sent ${count} times`);
    }
  checkEvents(evidence, expect);
  return {
    violations,
    calls: records.calls.length,
    returned: records.calls.filter((call) => call.charged > 0 && netOf(call) === 0).length,
    free,
  };
}
