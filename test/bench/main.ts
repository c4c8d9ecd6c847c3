import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { benchCalls } from './calls.ts';
import { benchMoney } from './money.ts';

/** Memory of a process, MB (proportional share, so that what processes share counts once). */
function memoryMb(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Math.round(Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024);
}

const round = (value: number) => Math.round(value * 100) / 100;

await using open = new AsyncDisposableStack();
const servers = open.adopt(await startOwnServers(), (it) => it.stop());
const stack = open.adopt(await startStack({ servers, env: { LOG_LEVEL: 'warn' } }), (it) => it.stop());
const memory = () =>
  Object.fromEntries(
    stack.names.map((name) => {
      const pid = stack.pid(name);
      return [name, pid === undefined ? null : memoryMb(pid)];
    }),
  );

const idle = memory();
const calls = await benchCalls(stack, Number(process.env.BENCH_ROUNDS ?? 5));
const loaded = memory();
const money = [await benchMoney(stack.mongodbUri, 1, 4000), await benchMoney(stack.mongodbUri, 1000, 4000)];

console.table(
  calls.map(({ atOnce, bare, call, latency, throughput }) => ({
    atOnce,
    'bare p50 ms': round(bare.p50),
    'call p50 ms': round(call.p50),
    'p50 ratio': round(latency),
    'bare /s': round(bare.perSecond),
    'call /s': round(call.perSecond),
    '/s ratio': round(throughput),
  })),
);
console.table(money.map((row) => ({ ...row, pairsPerSecond: round(row.pairsPerSecond) })));
console.table({ idle, loaded });
const machine = { cores: availableParallelism(), model: cpus()[0]?.model, load: loadavg().map(round) };
console.log(JSON.stringify({ machine, node: process.version, calls, money, memory: { idle, loaded } }));
