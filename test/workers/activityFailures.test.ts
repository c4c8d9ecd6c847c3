import { once } from 'node:events';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import test from 'ava';
import { pino } from 'pino';
import type { Quotes } from '../../activities/gold/quotes.ts';
import { createToolActivities } from '../../activities/runtime/toolActivities.ts';
import { createGuard } from '../../egress/guard.ts';
import { createResolver } from '../../egress/resolver.ts';
import { throwTemporalFailures } from '../../platform/temporal/temporalFailures.ts';
import goldPrice from '../../schemas/tools/gold-price.ts';

const unused = (): never => {
  throw new Error('gold-price does not use this');
};

/** Runs one attempt of gold-price whose quotes come from `latest`, with a time limit of one millisecond. */
async function attempt(latest: (signal: AbortSignal, cancel: () => void) => Promise<never>) {
  const environment = new MockActivityEnvironment(
    { scheduledTimestampMs: Date.now(), scheduleToCloseTimeoutMs: 60_000 },
    { logger: new DefaultLogger('ERROR', () => undefined), interceptors: [throwTemporalFailures] },
  );
  const quotes: Quotes = {
    latest: (_feed, _symbol, signal) => latest(signal, () => environment.cancel()),
    close: async () => undefined,
  };
  const resolver = createResolver({ servers: null });
  const { [goldPrice.name]: run } = await createToolActivities([goldPrice], {
    results: { write: unused, read: unused },
    files: { read: unused },
    links: { store: unused },
    openVault: unused,
    threads: { runOf: unused, close: unused },
    offload: unused,
    resources: { of: () => undefined, [Symbol.asyncDispose]: unused },
    observe: () => () => undefined,
    log: pino({ level: 'silent' }),
    context: { resolver, egress: createGuard({ resolver, ownPorts: [] }), quotes },
  });
  if (run === undefined) throw new Error('no activity');
  return environment.run(run, {
    callId: 'call',
    requestId: 'req',
    input: { metal: 'gold', currency: 'USD' },
    vault: null,
    resultExpiresAt: new Date().toISOString(),
    attemptMs: 1,
  });
}

test('an attempt that runs out of time and is cancelled before it ends is reported as cancelled', async (t) => {
  const run = attempt(async (signal, cancel) => {
    await once(signal, 'abort');
    cancel();
    throw signal.reason;
  });
  await t.throwsAsync(run, { instanceOf: CancelledFailure });
});

test('an attempt that runs out of time is reported as deadline_exceeded', async (t) => {
  const run = attempt(async (signal) => {
    await once(signal, 'abort');
    throw signal.reason;
  });
  t.like(await t.throwsAsync(run, { instanceOf: ApplicationFailure }), {
    type: 'deadline_exceeded',
    nonRetryable: true,
  });
});

test('an unexpected error is reported as a failure that Temporal retries', async (t) => {
  const run = attempt(() => Promise.reject(new DOMException('no quote', 'DataError')));
  t.like(await t.throwsAsync(run, { instanceOf: ApplicationFailure }), {
    message: 'no quote',
    nonRetryable: false,
  });
});
