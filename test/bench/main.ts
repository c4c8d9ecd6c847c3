import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { benchCalls } from './calls.ts';
import { benchLinks } from './links.ts';
import { benchMoney } from './money.ts';
import { benchNetwork, startTarget } from './network.ts';
import { benchOffice } from './office.ts';
import { benchWebhooks } from './webhooks.ts';

/** Memory of a process, MB (proportional share, so that what processes share counts once). */
function memoryMb(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Math.round(Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024);
}

const round = (value: number) => Math.round(value * 100) / 100;

await using open = new AsyncDisposableStack();
const servers = open.adopt(await startOwnServers(), (it) => it.stop());
const target = open.use(await startTarget());
const stack = open.adopt(await startStack({ servers, env: { LOG_LEVEL: 'warn', ...target.env } }), (it) =>
  it.stop(),
);
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
const office = await benchOffice(Number(process.env.BENCH_ROUNDS ?? 5));
const network = await benchNetwork(stack, target, Number(process.env.BENCH_ROUNDS ?? 5));
const links = await benchLinks(Number(process.env.BENCH_ROUNDS ?? 5));
const webhooks = await benchWebhooks(stack);

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
console.table(
  network.http.map(({ targetMs, bare, empty, call, ratio }) => ({
    'target ms': targetMs,
    'undici p50 ms': round(bare),
    'hash-text p50 ms': round(empty),
    'http-request p50 ms': round(call),
    'difference / undici': round(ratio),
  })),
);
console.table({
  'event loop p99 ms, 20 web-scrapes of 1 MB at once': round(network.scrapes.p99),
  'event loop max ms': round(network.scrapes.max),
  'of the 20 answered': network.scrapes.answered,
  'vet of a literal µs': round(network.vetMicroseconds),
});
console.table({
  'broken-links on 30 links of 200 ms, ms': round(links.ours.p50),
  'linkinator, ms': round(links.linkinator.p50),
  ratio: round(links.latency),
});
console.table({
  'events /s': webhooks.perSecond,
  'first attempt p50 ms': round(webhooks.half.p50),
  'first attempt p99 ms': round(webhooks.half.p99),
  'p99 ratio beside one that hangs': round(webhooks.isolation),
});
console.table(
  office.map(({ calls: how, cold, unoserver, ours }) => ({
    'word-to-pdf': how,
    'cold soffice p50 ms': round(cold.p50),
    'unoserver p50 ms': unoserver && round(unoserver.p50),
    'ours p50 ms': round(ours.p50),
    'by cold': round(ours.p50 / cold.p50),
    'by unoserver': unoserver && round(ours.p50 / unoserver.p50),
  })),
);
console.table({ idle, loaded });
const machine = { cores: availableParallelism(), model: cpus()[0]?.model, load: loadavg().map(round) };
console.log(
  JSON.stringify({
    machine,
    node: process.version,
    calls,
    money,
    network,
    links,
    webhooks,
    office,
    memory: { idle, loaded },
  }),
);
