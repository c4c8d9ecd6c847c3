import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { Message, Outcome, Task } from './child.ts';

/** A child process that runs one job at a time. */
export interface Decoder {
  /**
   * Runs a job; when the signal aborts, rejects with its reason and kills the process.
   *
   * @throws ServiceError what the job throws; source_too_large or corrupt_source when the process dies of it
   */
  run<O>(task: Task, signal: AbortSignal): Promise<O>;
  /** Resident memory after the last job, bytes. */
  readonly rssBytes: number;
  readonly jobs: number;
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<void>;
  readonly alive: boolean;
  /** Whether the process and its pipes keep this one's event loop alive. */
  keepAwake(awake: boolean): void;
  kill(): void;
}

export interface DecoderOptions {
  /** That its jobs may allocate, bytes. Enforced by the kernel. */
  memoryBytes: number;
  /** Receives a line about each crash. */
  log(line: string): void;
}

const CHILD = fileURLToPath(new URL('./child.ts', import.meta.url));
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Of JavaScript objects alone; byte arrays and native libraries allocate outside of it. */
const HEAP_MB = 512;
/**
 * Writable memory that Node maps at its start and mostly never touches, thread stacks above all: RLIMIT_DATA counts what
 * is mapped. Measured: 576 MB with Node 24, 620 MB with sharp.
 */
const MAPPED_BYTES = 640 * 2 ** 20;
const STDERR_CHARACTERS = 4000;

/**
 * Run by sh, `$1` is RLIMIT_DATA in KB (writable private memory; RLIMIT_AS would count V8's reservations of address
 * space too). No core dumps: they would hold the caller's file. Where the machine itself runs out of memory, the kernel
 * is to kill this process before any other. The program dies with its parent, also when that is killed.
 */
const LIMITED = `ulimit -c 0 && ulimit -d "$1" || exit 70
shift
echo 1000 > /proc/self/oom_score_adj
exec setpriv --pdeathsig KILL -- "$@"`;

/** V8, GLib, libuv and the C++ runtime abort when they cannot allocate. */
const ABORTS: readonly (NodeJS.Signals | null)[] = ['SIGABRT', 'SIGTRAP', 'SIGILL'];

function crash(code: number | null, signal: NodeJS.Signals | null, stderr: string): Error {
  const cause = new Error(`the process of the job ended with ${signal ?? code}: ${stderr.trim()}`);
  if (ABORTS.includes(signal))
    return new ServiceError('source_too_large', {
      detail: 'The file needs more memory than this tool has.',
      cause,
    });
  // By somebody else, such as the kernel of a machine without memory: no fault of the file.
  if (signal === 'SIGKILL') return cause;
  return new ServiceError('corrupt_source', { detail: 'The file cannot be decoded.', cause });
}

function unpack<O>(outcome: Outcome<O>): O {
  if ('output' in outcome) return outcome.output;
  const { code, detail, members } = outcome;
  if (isErrorCode(code)) throw new ServiceError(code, { ...members, detail });
  throw new Error(detail);
}

function start(memoryBytes: number): ChildProcess {
  const kilobytes = Math.ceil((MAPPED_BYTES + memoryBytes) / 1024);
  const command = [process.execPath, `--max-old-space-size=${HEAP_MB}`, CHILD];
  return spawn('/bin/sh', ['-c', LIMITED, 'sh', `${kilobytes}`, ...command], {
    // Nothing of this process's environment, which holds keys.
    env: { PATH, TMPDIR: tmpdir(), LANG: 'C.UTF-8' },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
    // A process group of its own: a signal to ours, such as Ctrl-C, does not end a job.
    detached: true,
  });
}

/** Starts a child process; it has ended with this process at the latest, even when this one is killed. */
export function startDecoder({ memoryBytes, log }: DecoderOptions): Decoder {
  const child = start(memoryBytes);
  let stderr = '';
  let ready = false;
  let rssBytes = 0;
  let jobs = 0;
  let alive = true;
  let killed = false;
  let current: { resolve(outcome: Outcome<never>): void; reject(error: unknown): void } | undefined;
  const ended = Promise.withResolvers<void>();

  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_CHARACTERS);
  });
  child.on('message', (message: Message<never>) => {
    if (message.kind === 'ready') ready = true;
    else {
      ({ rssBytes } = message);
      current?.resolve(message.outcome);
    }
  });
  const end = (error: Error): void => {
    alive = false;
    if (!killed) log(error.cause instanceof Error ? error.cause.message : error.message);
    current?.reject(error);
    ended.resolve();
  };
  child.once('error', end);
  child.once('close', (code, signal) =>
    end(
      ready
        ? crash(code, signal, stderr)
        : new Error(`the process of a job did not start (${signal ?? code}): ${stderr.trim()}`),
    ),
  );

  const kill = (): void => {
    killed = true;
    child.kill('SIGKILL');
  };

  return {
    async run<O>(task: Task, signal: AbortSignal): Promise<O> {
      const { promise, resolve, reject } = Promise.withResolvers<Outcome<O>>();
      current = { resolve, reject };
      jobs += 1;
      const onAbort = (): void => {
        kill();
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      // A channel that is closed is a process that has ended, which rejects.
      else child.send(task, () => undefined);
      try {
        return unpack(await promise);
      } finally {
        signal.removeEventListener('abort', onAbort);
        current = undefined;
      }
    },
    get rssBytes() {
      return rssBytes;
    },
    get jobs() {
      return jobs;
    },
    get alive() {
      return alive && !killed;
    },
    ended: ended.promise,
    keepAwake(awake) {
      // At run time the pipe is a socket; its type does not say so.
      for (const handle of [child, child.channel, child.stderr]) {
        const method: unknown = handle && Reflect.get(handle, awake ? 'ref' : 'unref');
        if (typeof method === 'function') Reflect.apply(method, handle, []);
      }
    },
    kill,
  };
}
