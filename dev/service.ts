import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { loadRegistry, poolsInUse } from '../schemas/registry.ts';
import { TASK_QUEUES } from '../workflows/contract.ts';
import { machineEnv } from './host.mjs';
import { freePort } from './ports.ts';
import { OwnedProcess } from './process.ts';
import { type Log, StartError } from './start-error.ts';

const READY_MS = 60_000;
/** Enough for calls in flight to be handed back; a local stack does not wait for the longest tool. */
const GRACE_MS = 10_000;
/** What the orchestrator loads first. */
export const PRELOAD = 'workers/lightSandbox.ts';

/** What a child tells over its channel when it serves. */
interface Ready {
  baseUrl?: string | undefined;
  internalUrl?: string | undefined;
}

/** Ports of the servers behind a service. */
export interface ServerPorts {
  /** All that they listen on now. */
  now(): readonly number[];
  /** Calls when a server is back, maybe on others. @returns what ends that */
  onChange(listener: () => void): () => void;
}

export interface ServiceOptions {
  /** Text by the names of schemas/env.ts; the processes get nothing of ours beside it but PATH, HOME and the like. */
  env: Record<string, string>;
  /** Callers must not reach these either. Default: none, the servers are not ours. */
  serverPorts?: ServerPorts | undefined;
  /** One worker process each. */
  pools: readonly string[];
  /** API processes. Default 1; the second and later listen on free ports. */
  apis?: number;
  logDir: string;
  log: Log;
  /** Start a process again that dies. Default false. */
  supervise?: boolean;
  /** Gives up the start; everything started is stopped then. */
  signal?: AbortSignal;
}

export interface Service {
  baseUrl: string;
  baseUrls: string[];
  internalUrl: string;
  internalUrls: string[];
  /** `api`, `api-2`, …, then the pools. */
  names: string[];
  /** undefined while it is down. */
  pid(name: string): number | undefined;
  /** Default SIGKILL. A process that this ends stays down until `restart`. */
  kill(name: string, signal?: NodeJS.Signals): Promise<void>;
  /** Ends it if it runs, and starts it on the ports that it had. */
  restart(name: string): Promise<void>;
  /** The APIs first, so that what they wait for is still answered; then the workers. */
  stop(): Promise<void>;
}

/** The orchestrator, webhook deliveries, and every pool that has a tool. */
export async function defaultPools(): Promise<string[]> {
  return [TASK_QUEUES.orchestrator, TASK_QUEUES.delivery, ...poolsInUse(await loadRegistry())];
}

const text = (message: object, key: 'baseUrl' | 'internalUrl'): string | undefined => {
  const value: unknown = Reflect.get(message, key);
  return typeof value === 'string' ? value : undefined;
};

function readyMessage(child: ChildProcess, signal: AbortSignal): Promise<Ready> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown) => {
      if (typeof message !== 'object' || message === null || Reflect.get(message, 'type') !== 'ready') return;
      resolve({ baseUrl: text(message, 'baseUrl'), internalUrl: text(message, 'internalUrl') });
      child.off('message', onMessage);
    };
    child.on('message', onMessage);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

type Common = Pick<ServiceOptions, 'env' | 'logDir' | 'log' | 'signal'> & { supervise: boolean };

/** A process of this project. `env` is asked at each start. */
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
      args: [
        ...(name === TASK_QUEUES.orchestrator ? ['--import', path(PRELOAD)] : []),
        path(script),
        ...rest,
      ],
      env: { ...machineEnv(), ...env() },
      ipc: true,
    }),
    ready: readyMessage,
    readyMs: READY_MS,
    graceMs: GRACE_MS,
    showOutput: true,
    foreign: false,
  });
}

type Ports = Partial<Record<'PORT' | 'INTERNAL_PORT' | 'SDK_METRICS_PORT', string>>;

/** A free port for each 0: every process is told all of them, and gets the same at its later starts. */
async function choosePorts(wanted: Ports): Promise<Ports> {
  const entries = Object.entries(wanted).map(async ([name, port]) => [
    name,
    port === '0' ? String(await freePort()) : port,
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

/** The first API listens where it is told to. */
const apiPorts = (index: number, { PORT, INTERNAL_PORT = '0' }: Record<string, string>): Promise<Ports> =>
  choosePorts(
    index > 0 ? { PORT: '0', INTERNAL_PORT: '0' } : { ...(PORT !== undefined && { PORT }), INTERNAL_PORT },
  );

async function startApi(process: OwnedProcess<Ready>) {
  const { baseUrl, internalUrl } = await process.start();
  if (baseUrl === undefined || internalUrl === undefined)
    throw new StartError(`${process.name} did not say where it listens`);
  return { baseUrl, internalUrl };
}

/**
 * Starts API and worker processes and resolves when all of them serve.
 *
 * @throws StartError when one does not; nothing is left running then
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
    OWN_PORTS: [common.env.OWN_PORTS ?? '', ...(serverPorts?.now() ?? []), ...chosen].join(','),
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
  const tell = () => {
    const message = { type: 'ownPorts', ports: serverPorts?.now() };
    for (const process of [...frontends, ...workers]) process.tell(message);
  };
  const stopTelling = serverPorts?.onChange(tell);
  owned.defer(() => stopTelling?.());
  // The APIs first: that the port of one is taken is told before there are workers to stop again.
  const started = await Promise.all(frontends.map(startApi));
  await Promise.all(workers.map((worker) => worker.start()));

  const processes = new Map([...frontends, ...workers].map((process) => [process.name, process]));
  const find = (name: string) => {
    const found = processes.get(name);
    if (found === undefined)
      throw new Error(`there is no process ${name}, only ${[...processes.keys()].join(', ')}`);
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
