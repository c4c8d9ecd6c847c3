import test from 'ava';
import type { EndpointHealth as Health } from '../../store/webhooks/endpointState.ts';
import {
  disabled,
  enabled,
  freeAttempts,
  HEALTHY,
  MAX_CONCURRENT_ATTEMPTS,
  nextDeliveryStatus,
  nextHealth,
} from '../../workflows/webhookEndpointState.ts';
import { seededRandom } from '../helpers/random.ts';

const FIRST_STEP = 5000;
const SCHEDULE = [5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 36_000_000];
const LIMIT = 20;

/**
 * `begin` starts an attempt. `fails` and `succeeds` end the oldest running attempt; if none runs, they start one and
 * end it.
 */
const ACTIONS = ['begin', 'fails', 'succeeds', 'test fails', 'test succeeds', 'disable', 'enable'] as const;
type Action = (typeof ACTIONS)[number];

interface Place {
  health: Health;
  /** Epochs of the running attempts, oldest first: the value of the endpoint's counter when the attempt started. */
  running: readonly number[];
  now: number;
}

function step({ health, running, now }: Place, action: Action): Place {
  const later = now + 1000;
  const ended = (ok: boolean, epoch: number) => nextHealth(health, { ok, epoch }, later, FIRST_STEP);
  const [oldest = health.epoch, ...rest] = running;
  switch (action) {
    case 'begin':
      return { health, running: [...running, health.epoch], now: later };
    case 'fails':
    case 'succeeds':
      return { health: ended(action === 'succeeds', oldest), running: rest, now: later };
    case 'test fails':
    case 'test succeeds':
      // No test delivery is sent to a disabled endpoint.
      if (health.state === 'disabled') return { health, running, now: later };
      return { health: ended(action === 'test succeeds', health.epoch), running, now: later };
    case 'disable':
      return { health: disabled(health, later), running, now: later };
    case 'enable':
      return { health: enabled(health), running, now: later };
  }
}

/** The state that the contract demands: the number of failures, and when the endpoint was disabled. */
interface Story {
  count: number;
  active: boolean;
  times: number;
  /** For each running attempt, whether it started after the endpoint was last enabled. */
  fresh: readonly boolean[];
}

function tell(story: Story, action: Action): Story {
  const [oldest = true, ...fresh] = story.fresh;
  const fail = (it: Story): Story => {
    const count = it.count + 1;
    return count === LIMIT ? { ...it, count, active: false, times: it.times + 1 } : { ...it, count };
  };
  switch (action) {
    case 'begin':
      return { ...story, fresh: [...story.fresh, true] };
    case 'fails':
      return oldest && story.active ? fail({ ...story, fresh }) : { ...story, fresh };
    case 'succeeds':
      return oldest && story.active ? { ...story, fresh, count: 0 } : { ...story, fresh };
    case 'test fails':
      return story.active ? fail(story) : story;
    case 'test succeeds':
      return story.active ? { ...story, count: 0 } : story;
    case 'disable':
      return { ...story, active: false };
    case 'enable':
      return { ...story, count: 0, active: true, fresh: story.fresh.map(() => false) };
  }
}

test('every sequence of up to 6 actions, from any count of failures, ends in the state that the contract demands', (t) => {
  let seen = 0;
  const faults: string[] = [];
  const walk = (place: Place, story: Story, path: readonly Action[]): void => {
    seen += 1;
    const { health } = place;
    if (health.failures !== story.count || (health.state === 'active') !== story.active)
      faults.push(`${path}: ${health.failures} ${health.state}, not ${story.count} ${story.active}`);
    if ((health.state === 'disabled') !== (health.disabledAt !== null)) faults.push(`${path}: disabledAt`);
    if (health.state === 'disabled' && freeAttempts(health, 0, Number.MAX_SAFE_INTEGER) > 0)
      faults.push(`${path}: room while disabled`);
    if (path.length === 6) return;
    for (const action of ACTIONS) walk(step(place, action), tell(story, action), [...path, action]);
  };
  for (const failures of [0, 17, 19])
    walk(
      { health: { ...HEALTHY, failures, notBefore: null }, running: [], now: 0 },
      { count: failures, active: true, times: 0, fresh: [] },
      [],
    );
  t.deepEqual(faults.slice(0, 5), []);
  t.is(seen, 3 * ((7 ** 7 - 1) / 6));
});

test('the endpoint is disabled exactly once, at the 20th consecutive failure', (t) => {
  const random = seededRandom((line) => t.log(line));
  for (let run = 0; run < 300; run++) {
    let health: Health = HEALTHY;
    let inARow = 0;
    let times = 0;
    for (let now = 0; now < 400; now++) {
      const ok = random.integer(1, 30) === 1;
      const before = health.state;
      health = nextHealth(health, { ok, epoch: health.epoch }, now, FIRST_STEP);
      if (before === 'disabled') continue;
      inARow = ok ? 0 : inARow + 1;
      t.is(health.state, inARow === LIMIT ? 'disabled' : 'active');
      if (health.state === 'disabled') times += 1;
    }
    t.true(times <= 1);
  }
});

test('the pause doubles after each failure, up to one hour', (t) => {
  let health: Health = HEALTHY;
  const holds: number[] = [];
  for (let failure = 1; failure < LIMIT; failure++) {
    health = nextHealth(health, { ok: false, epoch: 0 }, 0, FIRST_STEP);
    holds.push((health.notBefore ?? 0) / 1000);
  }
  t.deepEqual(holds.slice(0, 11), [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600]);
  t.true(holds.slice(11).every((hold) => hold === 3600));
  t.is(freeAttempts(health, 0, 3_599_999), 0);
  t.is(freeAttempts(health, 0, 3_600_000), 1);
  t.is(freeAttempts(health, 1, 3_600_000), 0, 'one at a time');
  t.is(freeAttempts(HEALTHY, 2, 0), MAX_CONCURRENT_ATTEMPTS - 2);
});

test('an outage of 30 s with 50 pending events does not disable the endpoint', (t) => {
  const BLIP = 30_000;
  const pending = Array.from({ length: 50 }, () => ({ dueAt: 0, tries: 0 }));
  let health: Health = HEALTHY;
  let worst = 0;
  let delivered = 0;
  const running: { since: number; ends: number; tries: number }[] = [];
  for (let now = 0; now < 24 * 3_600_000 && delivered < 50; now += 50) {
    for (const attempt of running.filter(({ ends }) => ends <= now)) {
      running.splice(running.indexOf(attempt), 1);
      const ok = attempt.ends > BLIP;
      health = nextHealth(health, { ok, epoch: 0 }, now, FIRST_STEP);
      const tries = attempt.tries + 1;
      const { state, nextAt } = nextDeliveryStatus({ ok, tries, retryAfterMs: null }, SCHEDULE, 0.5, now);
      if (state === 'delivered') delivered += 1;
      if (nextAt !== null) pending.push({ dueAt: nextAt, tries });
    }
    worst = Math.max(worst, health.failures);
    pending.sort((a, b) => a.dueAt - b.dueAt);
    while (
      freeAttempts(health, running.length, now) > 0 &&
      (pending[0]?.dueAt ?? Number.POSITIVE_INFINITY) <= now
    ) {
      const { tries } = pending.shift() ?? { tries: 0 };
      running.push({ since: now, ends: now + 100, tries });
    }
  }
  t.is(health.state, 'active');
  t.is(delivered, 50);
  t.true(worst < 10, `${worst} failures in a row`);
});

test('each delay of the schedule is extended by up to 20 %; after the last attempt the delivery has failed', (t) => {
  for (const [index, step] of SCHEDULE.entries())
    for (const spread of [0, 0.5, 1]) {
      const tries = index + 1;
      const { state, nextAt } = nextDeliveryStatus(
        { ok: false, tries, retryAfterMs: null },
        SCHEDULE,
        spread,
        1000,
      );
      t.is(state, 'pending');
      t.true((nextAt ?? 0) - 1000 >= step && (nextAt ?? 0) - 1000 <= step * 1.2);
    }
  t.deepEqual(nextDeliveryStatus({ ok: false, tries: 8, retryAfterMs: null }, SCHEDULE, 0, 0), {
    state: 'failed',
    nextAt: null,
  });
  for (const [asked, waited] of [
    [1000, 5000],
    [8000, 8000],
    [60_000, 10_000],
  ] as const)
    t.is(nextDeliveryStatus({ ok: false, tries: 1, retryAfterMs: asked }, SCHEDULE, 0, 0).nextAt, waited);
});
