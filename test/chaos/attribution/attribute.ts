import { recordAt } from '../../helpers/json.ts';
import { PRICES } from '../../helpers/prices.ts';
import type { Delivery } from '../../helpers/receiver.ts';
import type { Observation } from './callers.ts';
import type { Records } from './records.ts';

/** The observations and records of one account after all calls have ended. */
export interface Evidence {
  /** Credits that the account had when it was created. */
  credits: number;
  /** Credits that the test added later, by reference of the ledger entry. */
  topUpRuns: ReadonlyMap<string, number>;
  /** The requests and responses, in the order in which the responses arrived. */
  observations: readonly Observation[];
  records: Records;
  /** Request id and Idempotency-Key of each call, by call id. */
  origins: ReadonlyMap<string, { requestId: string; key: string | null }>;
  /** Number of POST requests that the target received, by the id of the observation, which is in the URL of each call. */
  posts: ReadonlyMap<string, number>;
  deliveries: readonly Delivery[];
  /** Changes of API keys that the Account API confirmed, such as `api_key.created key_…`. */
  keyChanges: readonly string[];
  /**
   * Whether the API process was killed so soon after a response that it may not have recorded that the response was
   * delivered.
   */
  wasKilledAfter(observation: Observation): boolean;
}

interface Attribution {
  /** Guarantees of the service that were broken, one sentence each; empty if every credit is attributed. */
  violations: string[];
  calls: number;
  /** Number of charged calls that were refunded because their caller did not receive the result. */
  returned: number;
  /**
   * Number of results that callers received although the call was refunded, because the API process was killed directly
   * after the response.
   */
  free: number;
}

/** Error codes that any call can get while a fault lasts. */
const TRANSIENT = ['internal', 'tool_unavailable', 'pool_busy', 'deadline_exceeded', 'insufficient_credits'];
/** Balance below which a `credits.low` event is sent, from the service's specification. */
const LOW_CREDITS = 25;
/**
 * Name of the API keys that were created before the webhook endpoint, which therefore does not receive their events.
 */
const EARLY_KEY = 'test';

type Call = Records['calls'][number];
type Expect = (isTrue: boolean, violation: string) => void;

/**
 * Checks that the ledger entries and the list of calls agree. @returns the net credits of each call: its charge minus
 * its refund
 */
function checkStatement({ credits, topUpRuns, records }: Evidence, expect: Expect): Map<string, number> {
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
  expect(sorted(added) === sorted(topUpRuns), `added ${sorted(added)}, expected ${sorted(topUpRuns)}`);
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
  const spent = credits + sum(topUpRuns.values()) - account.balance;
  expect(sum(net.values()) === spent, `${sum(net.values())} credits attributed, ${spent} spent`);
  return net;
}

/** Checks one response, without comparing it to the records. */
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

/** Checks all requests with the same Idempotency-Key. The last of them was sent after all faults had ended. */
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

/**
 * Checks a call without an Idempotency-Key whose caller got a complete response. @returns whether the caller got the
 * result without being charged
 */
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

/**
 * Checks the calls whose response no caller received: there are at most as many as requests without a complete
 * response, by API key and tool.
 */
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
    // Two kinds of such calls may stay charged: the caller may have disconnected after the operating system had taken the
    // response, and a call that changes its target is not refunded.
    const payable = sent.filter(
      ({ key, hungUp, isLost, kind }) => key === null && ((hungUp && !isLost) || kind.acts),
    );
    expect(
      charged.length <= payable.length,
      `${name}: ${charged.map(({ id }) => id)} charged, ${payable.length} may be`,
    );
  }
}

/** Derives the expected credit events from the ledger entries, and checks that each event exists and was received. */
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
  // Events of other changes may exist, because the response that confirmed them was lost.
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

/** Attributes each credit of an account to a call, and each call to a request. Returns the violations it finds. */
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
