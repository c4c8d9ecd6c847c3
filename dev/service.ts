import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { loadRegistry, poolsInUse } from '../schemas/registry.ts';
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

export interface ServiceOptions {
  /** Text by the names of schemas/env.ts; the processes get nothing of ours beside it but PATH, HOME and the like. */
  env: Record<string, string>;
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
  return ['orchestrator', 'delivery', ...poolsInUse(await loadRegistry())];
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
      args: [...(name === 'orchestrator' ? ['--import', path(PRELOAD)] : []), path(script), ...rest],
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

const portOf = (url: string): string => new URL(url).port;

interface Api {
  process: OwnedProcess<Ready>;
  baseUrl: string;
  internalUrl: string;
}

/** Starts an API. Later starts get the same ports, so that its addresses stay right. */
async function startApi(
  index: number,
  common: Common,
  own: (process: OwnedProcess<Ready>) => void,
): Promise<Api> {
  const name = index === 0 ? 'api' : `api-${index + 1}`;
  const env: Record<string, string> = {
    ...common.env,
    ...(index > 0 && { PORT: '0', INTERNAL_PORT: '0' }),
  };
  for (const port of ['PORT', 'INTERNAL_PORT']) if (env[port] === '0') env[port] = String(await freePort());
  const process = createProcess(name, ['api/server.ts'], () => env, common);
  own(process);
  const { baseUrl, internalUrl } = await process.start();
  if (baseUrl === undefined || internalUrl === undefined)
    throw new StartError(`${name} did not say where it listens`);
  return { process, baseUrl, internalUrl };
}

/**
 * Starts API and worker processes and resolves when all of them serve.
 *
 * @throws StartError when one does not; nothing is left running then
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { pools, apis = 1 } = options;
  const common = { ...options, supervise: options.supervise ?? false };
  const frontends: OwnedProcess<Ready>[] = [];
  await using owned = new AsyncDisposableStack();
  const ownPorts = [common.env.OWN_PORTS ?? ''];
  const workerEnv = () => ({ ...common.env, INTERNAL_PORT: '0', OWN_PORTS: ownPorts.join(',') });
  const workers = pools.map((pool) =>
    createProcess(pool, ['workers/main.ts', '--pool', pool], workerEnv, common),
  );
  owned.defer(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
  });
  owned.defer(async () => {
    await Promise.all(frontends.map((api) => api.stop()));
  });
  const own = (process: OwnedProcess<Ready>) => {
    frontends.push(process);
  };
  // The APIs first: the workers' egress guard is told which ports they listen on.
  const started = await Promise.all(Array.from({ length: apis }, (_, index) => startApi(index, common, own)));
  ownPorts.push(...started.flatMap(({ baseUrl, internalUrl }) => [portOf(baseUrl), portOf(internalUrl)]));
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
