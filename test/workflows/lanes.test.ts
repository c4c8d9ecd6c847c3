import test from 'ava';
import { VARIABLES } from '../../schemas/env.ts';
import { CONFINED_POOLS, type Lane, lanesOf, POOLS } from '../../schemas/pools.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { policyOf } from '../../store/calls/callPolicy.ts';
import { laneSlots } from '../../workers/pools.ts';
import { laneOf, toolQueue } from '../../workflows/contract.ts';

/** Milliseconds after its time limit at which Temporal ends an attempt. */
const ATTEMPT_GRACE_MS = 3000;
const LIMITS = { RATE_LIMIT: VARIABLES.RATE_LIMIT.fallback, POOL_WAIT: VARIABLES.POOL_WAIT.fallback };

test('however many calls an account runs, it leaves a slot of the pool to others', (t) => {
  for (const pool of POOLS)
    for (const slots of [null, 1, 2, 3, 100]) {
      const { first, further } = laneSlots(pool, slots);
      const used: Record<Lane, number> = { first: 0, further: 0, fast: 0 };
      // The account starts one call after the other, and none ends.
      for (let running = 1; running <= 1000; running++) {
        const lane = laneOf({ isFast: false }, running);
        used[lane] = Math.min(used[lane] + 1, laneSlots(pool, slots)[lane]);
      }
      t.true(used.first + used.further < first + further, `${pool} ${slots}`);
      t.true(used.first < first, `${pool} ${slots}: another account's only call finds a slot`);
    }
});

test('calls that an older API accepted, and their histories, stay in the queue of their pool', (t) => {
  t.is(toolQueue('cpu', laneOf({}, 5)), 'tools-cpu');
  t.is(toolQueue('cpu', laneOf({ isFast: false }, undefined)), 'tools-cpu');
});

test('no confined pool has a lane of fast tools, whose workers reach the ledger', (t) => {
  t.deepEqual(
    CONFINED_POOLS.filter((pool) => lanesOf(pool).includes('fast')),
    [],
  );
});

test('fast tools are in a pool that has slots for them', async (t) => {
  const fast = [...(await loadRegistry()).values()].filter((tool) => tool.fast === true);
  t.true(fast.length > 0);
  for (const { name, pool } of fast) {
    t.true(lanesOf(pool).includes('fast'), name);
    t.true(laneSlots(pool, null).fast > 0, name);
  }
});

test('a call may wait for a worker for at least as long as the longest call of its pool runs', async (t) => {
  const tools = [...(await loadRegistry()).values()];
  for (const tool of tools) {
    const others = tools.filter(({ pool }) => pool === tool.pool);
    const longest = Math.max(...others.map(({ limits: { workMs, attemptMs = workMs } }) => attemptMs));
    const { queueMs, deadlineMs } = policyOf(tool, false, LIMITS);
    t.true(queueMs >= longest + ATTEMPT_GRACE_MS, `${tool.name}: ${queueMs} < ${longest}`);
    t.true(deadlineMs > queueMs && deadlineMs < 100_000, tool.name);
  }
});
