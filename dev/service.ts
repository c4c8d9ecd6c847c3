import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isRecord } from '../schemas/isRecord.ts';
import { loadRegistry, poolsInUse } from '../schemas/registry.ts';
import { TASK_QUEUES } from '../workflows/contract.ts';
import { machineEnv } from './host.mjs';
import { freePort } from './ports.ts';
import { OwnedProcess } from './process.ts';
import { type Log, StartError } from './start-error.ts';

const READY_MS = 60_000;
/** Long enough to release the activities in progress. A local stack does not wait for the longest tool. */
const GRACE_MS = 10_000;

/** Message of a child process that is ready. */
interface Ready {
  baseUrl?: string | undefined;
  internalUrl?: string | undefined;
}

/** Ports of the MongoDB and Temporal servers of a service. */
export interface ServerPorts {
  /** All ports on which they listen now. */
  current(): readonly number[];
  /** Registers a listener for the restart of a server, which may change ports. @returns a function that removes it */
  onChange(listener: () => void): () => void;
}

export interface ServiceOptions {
  /** Variables of schemas/env.ts. Of this process's environment, the children inherit only `machineEnv()`. */
  env: Record<string, string>;
  /** More ports that callers must not reach. Default: none, for servers that were not started here. */
  serverPorts?: ServerPorts | undefined;
  /** Pools; each gets one worker process. */
  pools: readonly string[];
  /** Number of API processes, default 1. Only the first uses the configured ports; the others use free ones. */
  apis?: number;
  logDir: string;
  log: Log;
  /** Restart processes that end unexpectedly. Default false. */
  supervise?: boolean;
  /** Cancels the start and stops everything that was started. */
  signal?: AbortSignal;
}

export interface Service {
  baseUrl: string;
  baseUrls: string[];
  internalUrl: string;
  internalUrls: string[];
  /** `api`, `api-2`, …, then the pools. */
  names: string[];
  /** undefined while the process is down. */
  pid(name: string): number | undefined;
  /** Sends a signal, default SIGKILL. A process that it ends stays down until `restart`. */
  kill(name: string, signal?: NodeJS.Signals): Promise<void>;
  /** Stops the process if it runs, and starts it on the same ports. */
  restart(name: string): Promise<void>;
  /** Stops the APIs first, so that workers can finish the calls that the APIs wait for; then the workers. */
  stop(): Promise<void>;
}

/** Returns `orchestrator`, `delivery` and every pool that has a tool. */
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

/** Creates a process of this project. `env` is called at each start. */
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
      env: { ...machineEnv(), ...env() },
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

/** Replaces each port 0 by a free port, which the process keeps over restarts and all processes know. */
async function choosePorts(wanted: Ports): Promise<Ports> {
  const entries = Object.entries(wanted).map(async ([name, port]) => [
    name,
    port === '0' ? String(await freePort()) : port,
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

/** Only the first API uses the configured ports. */
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
 * Starts API and worker processes and resolves when all are ready.
 *
 * @throws StartError when one does not start; the others are then stopped
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { pools, apis = 1, serverPorts } = options;
  const common = { ...options, supervise: options.supervise ?? false };
  const ports = {
    apis: await Promise.all(Array.from({ length: apis }, (_, index) => apiPorts(index, common.env))),
    workers: await Promise.all(pools.map(() => choosePorts({ INTERNAL_PORT: '0', SDK_METRICS_PORT: '0' }))),
  };
  const chosen = [...ports.apis, ...ports.workers].flatMap((of) => Object.values(of));
  const envOf = (own: Ports | undefined) => () => ({
    ...common.env,
    ...own,
    OWN_PORTS: [common.env.OWN_PORTS ?? '', ...(serverPorts?.current() ?? []), ...chosen].join(','),
  });
  await using owned = new AsyncDisposableStack();
  const frontends = ports.apis.map((own, index) =>
    createProcess(index === 0 ? 'api' : `api-${index + 1}`, ['api/server.ts'], envOf(own), common),
  );
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
  // The APIs start first, so that an occupied port is reported before workers run.
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
    internalUrls: started.map(({ internalUrl }) => internalUrl),
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
