import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Servers, type Service, startService } from '../../dev/stack.ts';
import { makeAccount } from '../helpers/account.ts';
import { startStack } from '../helpers/stack.ts';
import { perCall, type Sums, scaled } from './capacity.ts';
import { measure } from './measure.ts';
import { cpuByOwner, machineCpu } from './processes.ts';
import type { Sizes } from './sizes.ts';

export interface Model {
  /**
   * CPU time of a call in ms by `client`, `api`, pool, `mongod` and `temporal`, measured with one API, orchestrator and
   * cpu worker: the input of the prediction.
   */
  one: Sums;
  /** The same with two of each, for comparison. */
  two: Sums;
  /** CPU time in ms per second that the second API, orchestrator and cpu worker are expected to use without calls. */
  idle: number;
  /** Cores that other processes of the machine left during the run with two of each. */
  cores: number;
  /** Calls per second with two of each. */
  predicted: number;
  measured: number;
  /** measured / predicted */
  ratio: number;
}

type ServerProcesses = Pick<Servers, 'mongodbUri' | 'temporalAddress' | 'ports'> &
  Record<'mongod' | 'temporal', { pid: number | undefined }>;

/** The parts of which a second process is started. */
const DOUBLED = ['api', 'orchestrator', 'cpu'];

const sum = (parts: Sums): number => Object.values(parts).reduce((all, one) => all + one, 0);

/** Returns the CPU time in ms that the parts have used so far. The client is this process. */
function cpuOfParts(services: readonly Service[], { mongod, temporal }: ServerProcesses): Sums {
  const owners = new Map<number | undefined, string>([
    ...services.flatMap(({ names, pid }) => names.map((name) => [pid(name), name] as const)),
    [mongod.pid, 'mongod'],
    [temporal.pid, 'temporal'],
  ]);
  const { user, system } = process.cpuUsage();
  return { client: (user + system) / 1000, ...cpuByOwner(owners) };
}

/**
 * Predicts the throughput of hash-text with two APIs, two orchestrators and two cpu workers from the CPU time of a call
 * with one of each, and measures it. The processes share the cores of this machine, so CPU time limits both.
 */
export async function benchModel(servers: ServerProcesses, sizes: Sizes['model']): Promise<Model> {
  const { calls, warmUp, concurrency, idleMs } = sizes;
  await using open = new AsyncDisposableStack();
  const stack = open.adopt(await startStack({ servers, pools: ['orchestrator', 'delivery', 'cpu'] }), (it) =>
    it.stop(),
  );
  const accounts = await Promise.all(
    Array.from({ length: sizes.accounts }, () => makeAccount(stack, 1_000_000)),
  );
  const services: Service[] = [stack];

  const call = async (index: number): Promise<void> => {
    const { baseUrl = '' } = services[index % services.length] ?? {};
    const caller = accounts[Math.floor(index / services.length) % accounts.length]?.at(baseUrl);
    const response = await caller?.call('hash-text', { text: `model ${index}` });
    if (response?.status !== 200) throw new Error(`${response?.status} ${await response?.text()}`);
    await response.arrayBuffer();
  };
  const cpu = () => cpuOfParts(services, servers);

  /** Runs the calls. Returns the CPU time of a call above that of the idle parts, and what other processes used. */
  async function run(idle: Sums) {
    await measure(warmUp, concurrency, call);
    const [before, machine, began] = [cpu(), machineCpu(), performance.now()];
    const { perSecond } = await measure(calls, concurrency, call);
    const seconds = (performance.now() - began) / 1000;
    const after = cpu();
    const others = machineCpu() - machine - (sum(after) - sum(before));
    return {
      perSecond,
      cores: availableParallelism() - others / seconds / 1000,
      cpu: perCall(before, after, idle, seconds, calls),
    };
  }

  await measure(warmUp, concurrency, call);
  const quiet = cpu();
  await sleep(idleMs);
  const idleOne = scaled(perCall(quiet, cpu(), {}, 0, 1), 1000 / idleMs);
  const one = await run(idleOne);

  const second = open.adopt(
    await startService({
      env: stack.env,
      pools: DOUBLED.filter((part) => part !== 'api'),
      logDir: join(stack.dataDir, 'second-logs'),
      log: (line) => process.stderr.write(`${line}\n`),
      serverPorts: servers.ports,
    }),
    (it) => it.stop(),
  );
  services.push(second);
  const idleTwo = Object.fromEntries(
    Object.entries(idleOne).map(([part, ms]) => [part, DOUBLED.includes(part) ? 2 * ms : ms]),
  );
  const two = await run(idleTwo);

  const predicted = (two.cores * 1000 - sum(idleTwo)) / sum(one.cpu);
  return {
    one: one.cpu,
    two: two.cpu,
    idle: sum(idleTwo) - sum(idleOne),
    cores: two.cores,
    predicted,
    measured: two.perSecond,
    ratio: two.perSecond / predicted,
  };
}
