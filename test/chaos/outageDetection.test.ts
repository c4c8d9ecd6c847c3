import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { pino } from 'pino';
import { watchOutages } from '../../api/calls/outages.ts';

const silent = pino({ level: 'silent' });
const POLL_MS = 50;

/** Watches a server until its calls are refused. @returns milliseconds from the begin of the watch; null after 14 s */
async function msUntilRefused(check: (signal: AbortSignal) => Promise<unknown>): Promise<number | null> {
  const outages = watchOutages({ server: check }, silent);
  const began = performance.now();
  try {
    while (performance.now() - began < 14_000) {
      try {
        outages.refuse();
      } catch {
        return performance.now() - began;
      }
      await sleep(POLL_MS);
    }
    return null;
  } finally {
    await outages.stop();
  }
}

/** Fails or never settles for a while, then succeeds. */
function failsFor(ms: number, failure: () => Promise<unknown>): () => Promise<unknown> {
  const until = performance.now() + ms;
  return () => (performance.now() < until ? failure() : Promise.resolve());
}

const refused = () => Promise.reject(new Error('connection refused'));
const silence = () => new Promise<never>(() => undefined);

test('calls are refused when a server has not worked for ten seconds, whether it refuses connections or is silent', async (t) => {
  t.timeout(60_000);
  const times = await Promise.all([refused, silence].map(msUntilRefused));
  for (const ms of times) t.true(ms !== null && ms >= 9900 && ms < 12_000, `${ms} ms`);
});

test('calls are not refused after outages of two, four and seven seconds', async (t) => {
  t.timeout(60_000);
  const blips = [2000, 4000, 7000].flatMap((ms) =>
    [refused, silence].map((failure) => failsFor(ms, failure)),
  );
  t.deepEqual(
    await Promise.all(blips.map(msUntilRefused)),
    blips.map(() => null),
  );
});
