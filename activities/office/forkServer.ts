import type { SandboxedProcess } from '../runtime/sandbox.ts';
import { createOfficeProcess, type OfficeProcess } from './officeProcess.ts';

/** A warm LibreOffice process that forks a process for each document of a caller and opens none of them itself. */
interface ForkServer {
  readonly ended: boolean;
  /** Number of processes that the server can still fork. */
  readonly left: number;
  /** Forks a process as soon as the server is warm. */
  fork(): OfficeProcess;
  /** Kills the server with all its processes; resolves when they are gone. */
  end(): Promise<void>;
}

const READY = Buffer.from('ready\n');
const STDERR_CHARACTERS = 2000;
/** File descriptor of the first channel. */
const FIRST = 3;

/** Creates a fork server. @param process sandbox that runs start.sh; it can fork as many processes as it has channels */
export function createForkServer(process: SandboxedProcess): ForkServer {
  let stderr = '';
  process.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(-STDERR_CHARACTERS);
  });
  const ready = new Promise<void>((resolve, reject) => {
    process.stdout.once('data', (chunk: Buffer) => chunk.equals(READY) && resolve());
    const onEnd = (code: number | null) =>
      reject(new Error(`LibreOffice ended (exit code ${code}): ${stderr.trim()}`));
    process.exited.then(onEnd, reject);
  });
  // LibreOffice may end before anything awaits `ready`; this handler prevents an unhandled rejection.
  ready.catch(() => undefined);
  let ended = false;
  const onEnd = () => {
    ended = true;
  };
  process.exited.then(onEnd, onEnd);
  let used = 0;

  return {
    get ended() {
      return ended;
    },
    get left() {
      return process.channels.length - used;
    },
    fork() {
      const channel = process.channels[used];
      if (channel === undefined) throw new RangeError('the fork server has no channel left');
      process.stdin.write(`${FIRST + used}\n`);
      used += 1;
      if (used === process.channels.length) process.stdin.end();
      return createOfficeProcess(channel, ready);
    },
    async end() {
      process.kill();
      // Rejects only if LibreOffice could not be started.
      await process.exited.catch(() => undefined);
    },
  };
}

/** Forks processes from the newest fork server and replaces it before it runs out of channels. */
export interface ForkServers {
  fork(): OfficeProcess;
  end(): Promise<void>;
}

/** When a server has this many channels left, its successor is started, so that it is warm when it is needed. */
const LOW = 8;

/** Creates the manager of successive fork servers. @param start starts one; first called when `fork` is first called */
export function createForkServers(start: () => ForkServer): ForkServers {
  const all = new Set<ForkServer>();
  let current: ForkServer | undefined;
  let next: ForkServer | undefined;
  const usable = (server: ForkServer | undefined) =>
    server !== undefined && !server.ended && server.left > 0 ? server : undefined;

  function startOne(): ForkServer {
    for (const server of all) if (server.ended) all.delete(server);
    const server = start();
    all.add(server);
    return server;
  }

  return {
    fork() {
      current = usable(current) ?? usable(next) ?? startOne();
      if (current === next) next = undefined;
      if (current.left <= LOW) next = usable(next) ?? startOne();
      return current.fork();
    },
    async end() {
      await Promise.all([...all].map((server) => server.end()));
    },
  };
}
