import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import temporalProto from '@temporalio/proto';
import { MongoClient } from 'mongodb';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { recordAt, recordsAt } from '../helpers/json.ts';
import type { Stack } from '../helpers/stack.ts';
import { measure } from './measure.ts';
import type { NetworkTarget } from './network.ts';
import { cpuByOwner, ownedProcesses, shareOf } from './processes.ts';
import type { Sizes } from './sizes.ts';

/** What one call of a tool costs. */
interface CapacityRow {
  tool: string;
  pool: string;
  perSecond: number;
  /** ms */
  p50: number;
  /** CPU time in ms, by process, with its child processes. */
  cpu: Record<string, number>;
  /** Commands that MongoDB executed, by the names of serverStatus.opcounters. */
  operations: Record<string, number>;
  /** Bytes that the call adds to MongoDB, with indexes and before compression. */
  storedBytes: number;
  /** Events and bytes of the workflow's history. */
  events: number;
  historyBytes: number;
  /** Actions that Temporal Cloud would bill. */
  actions: number;
}

interface Capacity {
  rows: CapacityRow[];
  /** Figures of the idle service, per second. */
  idle: { cpu: Record<string, number>; operations: Record<string, number> };
  /** MB by process, with its child processes, after the calls. */
  memory: Record<string, number>;
}

const CONCURRENCY = 4;
const CREDITS = 1_000_000;

const { EventType } = temporalProto.temporal.api.enums.v1;
/**
 * Billed actions by event. The local activities of one workflow task are one action; each of these tasks has one here.
 * Source: https://docs.temporal.io/cloud/actions
 */
const ACTIONS = new Map<number, number>([
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, 1],
  [EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED, 1],
  [EventType.EVENT_TYPE_MARKER_RECORDED, 1],
  [EventType.EVENT_TYPE_TIMER_STARTED, 1],
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, 1],
  [EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED, 2],
]);

export type Sums = Record<string, number>;

const sumBy = <T>(items: readonly T[], name: (item: T) => string, value: (item: T) => number): Sums => {
  const sums: Sums = {};
  for (const item of items) sums[name(item)] = (sums[name(item)] ?? 0) + value(item);
  return sums;
};

/** (after - before - idle * seconds) / count, by name */
export const perCall = (before: Sums, after: Sums, idle: Sums, seconds: number, count: number): Sums =>
  Object.fromEntries(
    Object.entries(after).map(([name, value]) => [
      name,
      Math.max(0, (value - (before[name] ?? 0) - (idle[name] ?? 0) * seconds) / count),
    ]),
  );

export const scaled = (sums: Sums, factor: number): Sums =>
  Object.fromEntries(Object.entries(sums).map(([name, value]) => [name, value * factor]));

/** One tool of each pool, with an input that takes a typical time, and the number of measured calls. */
const worksOf = (target: NetworkTarget) => [
  { tool: 'hash-text', pool: 'cpu', times: 200, input: { text: 'capacity' } },
  { tool: 'http-request', pool: 'network', times: 200, input: { method: 'GET', url: `${target.url}/50` } },
  {
    tool: 'html-to-image',
    pool: 'browser',
    times: 40,
    input: { html: '<h1>Hi</h1>', width: 800, height: 600 },
  },
  { tool: 'word-to-pdf', pool: 'heavy', times: 16, input: { fileUrl: `${target.url}/document.docx` } },
];

async function historyOf(client: Client, account: TestAccount) {
  const list: unknown = await (await account.manage('/api/v1/account/calls?limit=1')).json();
  const [call] = recordsAt(recordAt(list).items);
  const handle = client.workflow.getHandle(String(call?.id));
  const [{ events }, { historySize }] = await Promise.all([handle.fetchHistory(), handle.describe()]);
  const actions = events?.map(({ eventType }) => ACTIONS.get(eventType ?? 0) ?? 0) ?? [];
  return {
    events: events?.length ?? 0,
    historyBytes: historySize ?? 0,
    actions: actions.reduce((sum, one) => sum + one, 0),
  };
}

/** Measures what a call of each pool costs in CPU time, MongoDB operations and Temporal actions. */
export async function benchCapacity(
  stack: Stack,
  servers: { mongod: { pid: number | undefined }; temporal: { pid: number | undefined } },
  target: NetworkTarget,
  { share, warmUp, idleMs }: Sizes['capacity'],
): Promise<Capacity> {
  await using open = new AsyncDisposableStack();
  const mongodb = open.adopt(await new MongoClient(stack.mongodbUri).connect(), (it) => it.close());
  const connection = open.adopt(await Connection.connect({ address: stack.temporalAddress }), (it) =>
    it.close(),
  );
  const client = new Client({ connection, namespace: stack.namespace });
  const owners = () =>
    new Map([
      ...stack.names.map((name) => [stack.pid(name), name] as const),
      [servers.mongod.pid, 'mongod'] as const,
      [servers.temporal.pid, 'temporal'] as const,
    ]);
  const cpu = () => cpuByOwner(owners());
  const operations = async (): Promise<Sums> => {
    const { opcounters } = await mongodb.db('admin').command({ serverStatus: 1 });
    const counters = Object.entries(recordAt(opcounters));
    return Object.fromEntries(
      counters.flatMap(([name, value]) => (typeof value === 'number' ? [[name, value]] : [])),
    );
  };
  const stored = async (): Promise<number> => {
    const { dataSize, indexSize } = await mongodb.db().command({ dbStats: 1 });
    return Number(dataSize) + Number(indexSize);
  };

  const account = await makeAccount(stack, CREDITS);
  const works = worksOf(target).map((work) => ({ ...work, times: Math.ceil(work.times * share) }));
  const call = async (tool: string, input: object) => {
    const response = await account.call(tool, input);
    if (response.status !== 200) throw new Error(`${tool}: ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  for (const { tool, input } of works) await measure(warmUp, CONCURRENCY, () => call(tool, input));

  const [quietCpu, quietOperations] = [cpu(), await operations()];
  await sleep(idleMs);
  const idle = {
    cpu: scaled(perCall(quietCpu, cpu(), {}, 0, 1), 1000 / idleMs),
    operations: scaled(perCall(quietOperations, await operations(), {}, 0, 1), 1000 / idleMs),
  };

  const rows: CapacityRow[] = [];
  for (const { tool, pool, times, input } of works) {
    const before = {
      cpu: cpu(),
      operations: await operations(),
      stored: await stored(),
      at: performance.now(),
    };
    const { p50, perSecond } = await measure(times, CONCURRENCY, () => call(tool, input));
    const seconds = (performance.now() - before.at) / 1000;
    rows.push({
      tool,
      pool,
      perSecond,
      p50,
      cpu: perCall(before.cpu, cpu(), idle.cpu, seconds, times),
      operations: perCall(before.operations, await operations(), idle.operations, seconds, times),
      storedBytes: ((await stored()) - before.stored) / times,
      ...(await historyOf(client, account)),
    });
  }
  const memory = sumBy(
    ownedProcesses(owners()),
    ({ owner }) => owner,
    ({ pid }) => shareOf(pid) / 1024,
  );
  return { rows, idle, memory };
}
