import test from 'ava';
import { pino } from 'pino';
import { watchOutages } from '../../api/calls/outages.ts';
import { createManualTimers, type ManualTimers } from '../helpers/manualTimers.ts';

const silent = pino({ level: 'silent' });
const STEP_MS = 50;
const WATCHED_MS = 20_000;

/** Answers a probe at the given time. */
type Check = (now: number) => Promise<unknown>;

/**
 * Watches a server until its calls are refused. @returns milliseconds from the begin of the watch, rounded up to steps of
 * 50 ms; null when no call was refused within 20 s
 */
async function msUntilRefused(
  check: Check,
  passes = (timers: ManualTimers) => timers.advance(STEP_MS),
): Promise<number | null> {
  const timers = createManualTimers();
  const outages = watchOutages({ server: () => check(timers.now()) }, silent, timers);
  try {
    while (timers.now() < WATCHED_MS) {
      await passes(timers);
      try {
        outages.refuse();
      } catch {
        return timers.now();
      }
    }
    return null;
  } finally {
    await outages.stop();
  }
}

const refused = () => Promise.reject(new Error('connection refused'));
const silence = () => new Promise<never>(() => undefined);
/** Fails or never settles for a while, then succeeds. */
const failsFor =
  (ms: number, failure: Check): Check =>
  (now) =>
    now < ms ? failure(now) : Promise.resolve();

test('calls are refused when a server has not worked for ten seconds, whether it refuses connections or is silent', async (t) => {
  t.is(await msUntilRefused(refused), 10_000);
  // The probe that decides is given one millisecond more.
  t.is(await msUntilRefused(silence), 10_050);
});

test('calls are not refused after outages of two, four and seven seconds', async (t) => {
  for (const ms of [2000, 4000, 7000])
    for (const failure of [refused, silence])
      t.is(await msUntilRefused(failsFor(ms, failure)), null, `${ms}`);
});

test('calls are not refused after a pause of the machine in which one probe timed out', async (t) => {
  let paused = false;
  const check = failsFor(1500, silence);
  const ms = await msUntilRefused(check, async (timers) => {
    if (!paused && timers.now() > 500) {
      paused = true;
      timers.block(15_000);
    }
    await timers.advance(STEP_MS);
  });
  t.is(ms, null);
});
