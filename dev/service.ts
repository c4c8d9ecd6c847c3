import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isRecord } from '../schemas/isRecord.ts';
import { isPool, lanesOf } from '../schemas/pools.ts';
import { loadRegistry, poolsInUse } from '../schemas/registry.ts';
import { TASK_QUEUES } from '../workflows/contract.ts';
import { machineEnv } from './host.mjs';
import { MEMORY_VARIABLES } from './memoryVariables.ts';
import { freePort } from './ports.ts';
import { OwnedProcess } from './process.ts';
import { type Log, StartError } from './start-error.ts';

const READY_MS = 60_000;
/**
 * Milliseconds between SIGTERM and SIGKILL for a process of the service. They suffice to hand activities in progress
 * back to Temporal; a local stack does not wait until the longest tool call has ended.
 */
const GRACE_MS = 10_000;

/** Message with which a child process reports that it is ready. Only an API sends its addresses. */
interface Ready {
  baseUrl?: string | undefined;
  internalUrl?: string | undefined;
}

/** Ports of the MongoDB and Temporal servers that a service uses. */
export interface ServerPorts {
  /** Returns all ports on which the MongoDB and Temporal servers listen now. */
  current(): readonly number[];
  /**
   * Registers a listener that is called after a restart of MongoDB or Temporal, because its ports may then differ.
   *
   * @returns a function that removes the listener
   */
  onChange(listener: () => void): () => void;
}

export interface ServiceOptions {
  /**
   * Environment variables of the service's processes (schemas/env.ts). From the environment of this process they
   * inherit only `machineEnv()`.
   */
  env: Record<string, string>;
  /**
   * Further ports that callers must not reach through the service, such as those of MongoDB and Temporal. Default:
   * none, for servers that this process did not start.
   */
  serverPorts?: ServerPorts | undefined;
  /** Names of the worker pools. One worker process is started for each. */
  pools: readonly string[];
  /** Number of API processes, default 1. Only the first API uses the configured ports; the others use free ports. */
  apis?: number;
  logDir: string;
  log: Log;
  /** Whether to restart processes that exit unexpectedly. Default: false. */
  supervise?: boolean;
  /** Signal that cancels the start when it aborts. Processes that were already started are then stopped. */
  signal?: AbortSignal;
}

export interface Service {
  baseUrl: string;
  baseUrls: string[];
  internalUrl: string;
  /** Names of the processes: `api`, `api-2`, …, then the pools. */
  names: string[];
  /** Returns the process id of a process; undefined while the process is not running. */
  pid(name: string): number | undefined;
  /**
   * Sends a signal to a process, SIGKILL by default. A process that exits because of the signal stays down until
   * `restart`.
   */
  kill(name: string, signal?: NodeJS.Signals): Promise<void>;
  /** Stops a process if it is running, and starts it on the same ports. */
  restart(name: string): Promise<void>;
  /**
   * Stops all processes: first the APIs, so that the workers can finish the calls for which the APIs wait, then the
   * workers.
   */
  stop(): Promise<void>;
}

/** Returns the names of the worker pools to start: `orchestrator`, `delivery` and every pool that has a tool. */
export async function defaultPools(): Promise<string[]> {
  return [TASK_QUEUES.orchestrator, TASK_QUEUES.delivery, ...poolsInUse(await loadRegistry())];
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function readyMessage(child: ChildProcess, signal: AbortSignal): Promise<Ready> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown) => {
      if (!isRecord(message) || message.type !== 'ready') return;
      resolve({ baseUrl: text(message.baseUrl), internalUrl: text(message.internalUrl) });
      child.off('message', onMessage);
    };
    child.on('message', onMessage);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

type Common = Pick<ServiceOptions, 'env' | 'logDir' | 'log' | 'signal'> & { supervise: boolean };

/** Creates a process that runs a script of this project. `env` is called at each start. */
function createProcess(
  name: string,
  args: [string, ...string[]],
  env: () => Record<string, string>,
  common: Common,
) {
  const [script, ...rest] = args;
  const path = (file: string) => fileURLToPath(new URL(`../${file}`, import.meta.url));
  return new OwnedProcess<Ready>({
    ...common,
    name,
    command: () => ({
      file: process.execPath,
      args: [path(script), ...rest],
      env: { ...machineEnv(), ...MEMORY_VARIABLES, ...env() },
      ipc: true,
    }),
    ready: readyMessage,
    readyMs: READY_MS,
    graceMs: GRACE_MS,
    showOutput: true,
    thirdParty: false,
  });
}

type Ports = Partial<Record<'PORT' | 'INTERNAL_PORT' | 'SDK_METRICS_PORT', string>>;

/**
 * Replaces each port 0 by a free port. The process keeps that port when it is restarted, and all other processes are
 * told about it.
 */
async function choosePorts(wanted: Ports): Promise<Ports> {
  const entries = Object.entries(wanted).map(async ([name, port]) => [
    name,
    port === '0' ? String(await freePort()) : port,
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

/** Returns the ports of an API: the configured ones for the first API, free ones for the others. */
const apiPorts = (index: number, { PORT, INTERNAL_PORT = '0' }: Record<string, string>): Promise<Ports> =>
  choosePorts(
    index > 0 ? { PORT: '0', INTERNAL_PORT: '0' } : { ...(PORT !== undefined && { PORT }), INTERNAL_PORT },
  );

async function startApi(process: OwnedProcess<Ready>) {
  const { baseUrl, internalUrl } = await process.start();
  if (baseUrl === undefined || internalUrl === undefined)
    throw new StartError(`${process.name} is ready but did not report its addresses`);
  return { baseUrl, internalUrl };
}

/**
 * Starts the API and worker processes, and resolves when all of them are ready.
 *
 * @throws StartError when a process does not start; the others have then been stopped
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { pools, apis = 1, serverPorts } = options;
  const common = { ...options, supervise: options.supervise ?? false };
  const ports = {
    apis: await Promise.all(Array.from({ length: apis }, (_, index) => apiPorts(index, common.env))),
    workers: await Promise.all(pools.map(() => choosePorts({ INTERNAL_PORT: '0', SDK_METRICS_PORT: '0' }))),
  };
  const chosen = [...ports.apis, ...ports.workers].flatMap((of) => Object.values(of));
  const envOf = (own: Record<string, string> | undefined) => () => ({
    ...common.env,
    ...own,
    OWN_PORTS: [common.env.OWN_PORTS ?? '', ...(serverPorts?.current() ?? []), ...chosen].join(','),
  });
  await using owned = new AsyncDisposableStack();
  const fastLanes = pools.flatMap((pool, index) =>
    isPool(pool) && lanesOf(pool).includes('fast')
      ? [`${pool}=http://127.0.0.1:${ports.workers[index]?.INTERNAL_PORT}`]
      : [],
  );
  const frontends = ports.apis.map((own, index) => {
    const env = envOf({ FAST_LANE_URLS: fastLanes.join(), ...common.env, ...own });
    return createProcess(index === 0 ? 'api' : `api-${index + 1}`, ['api/server.ts'], env, common);
  });
  const workers = pools.map((pool, index) =>
    createProcess(pool, ['workers/main.ts', '--pool', pool], envOf(ports.workers[index]), common),
  );
  owned.defer(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
  });
  owned.defer(async () => {
    await Promise.all(frontends.map((api) => api.stop()));
  });
  const sendPorts = () => {
    const message = { type: 'ownPorts', ports: serverPorts?.current() };
    for (const process of [...frontends, ...workers]) process.send(message);
  };
  const unsubscribe = serverPorts?.onChange(sendPorts);
  owned.defer(() => unsubscribe?.());
  // The APIs start before the workers, so that an occupied port is reported before any worker runs.
  const started = await Promise.all(frontends.map(startApi));
  await Promise.all(workers.map((worker) => worker.start()));

  const processes = new Map([...frontends, ...workers].map((process) => [process.name, process]));
  const find = (name: string) => {
    const found = processes.get(name);
    if (found === undefined)
      throw new Error(`unknown process ${name}; running: ${[...processes.keys()].join(', ')}`);
    return found;
  };
  const running = owned.move();
  return {
    baseUrl: started[0]?.baseUrl ?? '',
    baseUrls: started.map(({ baseUrl }) => baseUrl),
    internalUrl: started[0]?.internalUrl ?? '',
    names: [...processes.keys()],
    pid: (name) => find(name).pid,
    kill: (name, signal) => find(name).kill(signal),
    restart: async (name) => {
      await find(name).stop();
      await find(name).start();
    },
    stop: () => running.disposeAsync(),
  };
}
