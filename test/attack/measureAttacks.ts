import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { WORKFLOWS } from '../../workflows/contract.ts';
import { measure } from '../bench/measure.ts';
import { readProc } from '../bench/processes.ts';
import { makeAccount } from '../helpers/account.ts';
import { freshCredentials, signUp } from '../helpers/session.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { ATTACKS } from './attacks.ts';
import { longestAttempt, startTarget, type Target } from './floods.ts';
import type { Attack, Stored } from './kinds.ts';
import type { Scene } from './scene.ts';
import { startAttacker } from './startAttacker.ts';

/** How much is measured: the victim's calls, the share of each attack, and the time in which it builds up. */
export interface Sizes {
  calls: number;
  share: number;
  openMs: number;
}

/** A figure beside its limit. */
export interface Figure {
  value: number;
  atMost: number;
}

/** What an attack did to the victim and to the service. */
export interface Harm {
  /** Connections or requests of the attack. */
  count: number;
  /** Milliseconds of the victim's calls before the attack. */
  idleP50: number;
  /** Milliseconds of the victim's calls during the attack. */
  p95: Figure;
  /** The victim's calls that were answered with 503, and those that failed in another way. */
  unavailable: Figure;
  failed: Figure;
  /** Largest resident memory of the API process in MB. */
  memory: Figure;
  /** Bytes that the attack left, beside what the same number of the victim's calls leaves without it. */
  mongodb: Figure;
  temporal: Figure;
}

const CREDITS = 1_000_000;
/** Accounts of the attacker. */
const ACCOUNTS = 2;
/** Pause in milliseconds between the victim's calls, which keeps them within the rate limit of its account. */
const PAUSE_MS = 50;
/** The victim's p95 during an attack, as a multiple of that without it. */
const SLOWDOWN = 2;
/** MB of the API process: 256 for responses, 96 for request bodies, and the rest for the process. */
const MEMORY = 600;
/** Bytes that the service itself stores during an attack: samples, leases, counters, and calls that the attack had begun. */
const OWN_BYTES = 100_000;
/** Milliseconds within which the service deletes what calls leave. */
const DELETED_WITHIN_MS = 90_000;

/** Names of the figures that are above their limits. */
export const exceeded = (harm: Harm): string[] =>
  Object.entries(harm).flatMap(([name, figure]) =>
    typeof figure === 'object' && !(figure.value <= figure.atMost) ? [name] : [],
  );

/** Measures an attack on a stack. */
export type MeasureAttack = (name: string, sizes: Sizes) => Promise<Harm>;

/** Starts a service with default limits and returns a function that attacks it. @param owned stops the service */
export async function startScene(owned: AsyncDisposableStack): Promise<MeasureAttack> {
  const target = owned.use(await startTarget());
  // Log level `info`, because the durations of attempts are read from the log.
  const env = { RATE_LIMIT: '20:40', LOG_LEVEL: 'info', EGRESS_ALLOW: `127.0.0.1:${target.port}` };
  const stack = owned.adopt(await startStack({ env }), (it) => it.stop());
  const store = owned.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const address = stack.temporalAddress;
  const connection = owned.adopt(await Connection.connect({ address }), (it) => it.close());
  const client = new Client({ connection, namespace: stack.namespace });
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => makeAccount(stack, CREDITS)));
  const user = freshCredentials();
  await signUp(stack.baseUrl, user);
  const scene = {
    baseUrl: stack.baseUrl,
    target: target.url,
    accounts: accounts.map(({ toolsKey, accountKey }) => ({ toolsKey, accountKey })),
    user,
  };
  return async (name, sizes) => {
    const attack = ATTACKS[name];
    if (attack === undefined) throw new Error(`no attack ${name}`);
    return await measureAttack({ stack, store, client, target, scene }, name, attack, sizes);
  };
}

interface Subject {
  stack: Stack;
  store: Store;
  client: Client;
  target: Target;
  scene: Scene;
}

/** Waits until no call runs, then returns what the attack's kinds of workflows and all documents take. */
async function storedBy({ store, client }: Subject): Promise<Stored> {
  await until('no call runs', async () => (await store.calls.countDocuments({ state: 'running' })) === 0);
  const { dataSize } = await store.db.command({ dbStats: 1 });
  const { callTool, dispatchEvents, webhookEndpoint } = WORKFLOWS;
  const types = [callTool, dispatchEvents, webhookEndpoint].map((type) => `"${type}"`);
  let temporal = 0;
  for await (const { historySize } of client.workflow.list({ query: `WorkflowType IN (${types})` }))
    temporal += historySize ?? 0;
  return { mongodb: Number(dataSize), temporal };
}

/** Waits until as little is left as may be, because the service deletes some of it later. Returns what is left in the end. */
async function leftBy(subject: Subject, before: Stored, usual: Stored, allowed: Stored): Promise<Stored> {
  const end = Date.now() + DELETED_WITHIN_MS;
  for (;;) {
    const now = await storedBy(subject);
    const left = {
      mongodb: now.mongodb - before.mongodb - usual.mongodb,
      temporal: now.temporal - before.temporal - usual.temporal,
    };
    const isAllowed = left.mongodb <= allowed.mongodb && left.temporal <= allowed.temporal;
    if (isAllowed || Date.now() > end) return left;
    await sleep(1000);
  }
}

/** Watches the resident memory of a process in MB until it is disposed. */
function watchMemory(pid: number | undefined): { most(): number } & Disposable {
  let most = 0;
  const watch = setInterval(() => {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readProc(`/proc/${pid}/status`)) ?? [];
    most = Math.max(most, Number(kilobytes ?? 0) / 1024);
  }, 100);
  return { most: () => most, [Symbol.dispose]: () => clearInterval(watch) };
}

async function measureAttack(
  subject: Subject,
  name: string,
  attack: Attack,
  { calls, share, openMs }: Sizes,
): Promise<Harm> {
  const { stack, store, target, scene } = subject;
  const { flood, victim } = attack;
  const account = await makeAccount(stack, CREDITS);
  const { tool, body } = victim(target.url);
  let unavailable = 0;
  let failed = 0;
  const call = async () => {
    const response = await account.call(tool, body);
    await response.arrayBuffer();
    if (response.status === 503) unavailable++;
    else if (response.status !== 200) throw new Error(`${tool}: ${response.status}`);
  };
  const attempt = () =>
    call().catch((error: unknown) => {
      failed++;
      console.error(`the victim of "${name}":`, error);
    });
  const measureCalls = () => measure(calls, 1, attempt, PAUSE_MS);
  const attacked = async () => {
    const since = Date.now();
    using memory = watchMemory(stack.pid('api'));
    await using attacker = await startAttacker(name, scene, { share, openMs });
    const during = await measureCalls();
    const longest = flood ? await until('a long call ends', () => longestAttempt(stack, flood, since)) : 0;
    return { during, longest, count: attacker.count(), memory: memory.most() };
  };

  await call();
  const start = await storedBy(subject);
  const idle = await measureCalls();
  if (unavailable + failed > 0) throw new Error(`the victim's calls failed before the attack "${name}"`);
  const before = await storedBy(subject);
  const usual = { mongodb: before.mongodb - start.mongodb, temporal: before.temporal - start.temporal };

  const { during, longest, count, memory } = await attacked();
  const { mongodb = 0, temporal = 0 } = attack.leaves?.(count) ?? {};
  const allowed = { mongodb: mongodb + OWN_BYTES, temporal: temporal + OWN_BYTES };
  const left = await leftBy(subject, before, usual, allowed);
  // Those of the victim's calls would expire during a later attack, and hide what that leaves.
  await store.results.deleteMany();
  return {
    count,
    idleP50: idle.p50,
    p95: { value: during.p95, atMost: flood ? idle.p95 + longest : SLOWDOWN * idle.p95 },
    unavailable: { value: unavailable, atMost: 0 },
    failed: { value: failed, atMost: 0 },
    memory: { value: memory, atMost: attack.memory ?? MEMORY },
    mongodb: { value: left.mongodb, atMost: allowed.mongodb },
    temporal: { value: left.temporal, atMost: allowed.temporal },
  };
}
