import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isErrorCode, ServiceError } from '../../schemas/errors.ts';
import { programVariables } from '../runtime/programs.ts';
import type { Message, Outcome, Task } from './child.ts';

/** A child process that runs one job at a time. */
export interface Decoder {
  /**
   * Runs a job. When the signal aborts, rejects with its reason and kills the process.
   *
   * @throws ServiceError thrown by the job; source_too_large or corrupt_source when the job crashes the process
   */
  run<O>(task: Task, signal: AbortSignal): Promise<O>;
  /** Resident memory of the process after its last job, in bytes. */
  readonly rssBytes: number;
  /** Number of jobs that the process has started. */
  readonly jobs: number;
  /** Resolves when the process has exited, for any reason. */
  readonly ended: Promise<void>;
  readonly alive: boolean;
  /** Sets whether the child process and its pipes keep the event loop of this process alive. */
  keepAwake(awake: boolean): void;
  kill(): void;
}

export interface DecoderOptions {
  /** Memory in bytes that a job may allocate. The kernel enforces this limit. */
  memoryBytes: number;
  /** Folder of unpacked Debian packages (PROGRAMS_DIR), whose fonts jobs use. Default: none. */
  programs?: string | null;
  /** Writes a line to the log; called when a child process crashes. */
  log(line: string): void;
}

const CHILD = fileURLToPath(new URL('./child.ts', import.meta.url));
/**
 * Limit for V8's heap in MB, which holds JavaScript objects. Byte arrays and native libraries allocate outside the
 * heap.
 */
const HEAP_MB = 512;
/**
 * Writable memory that Node maps at start but mostly never uses, such as thread stacks. It is added to the limit,
 * because RLIMIT_DATA counts mapped memory. Measured: 576 MB with Node 24, 620 MB with sharp.
 */
const MAPPED_BYTES = 640 * 2 ** 20;
const STDERR_CHARACTERS = 4000;

/**
 * Shell script that starts the child process with limits. `$1` is RLIMIT_DATA in KB (writable private memory);
 * RLIMIT_AS would also count the address space that V8 reserves. Core dumps are off, because they would contain the
 * caller's file. The OOM score makes the kernel kill this process first when the machine runs out of memory.
 * `--pdeathsig` kills the process when its parent dies.
 */
const LIMIT_SCRIPT = `ulimit -c 0 && ulimit -d "$1" || exit 70
shift
echo 1000 > /proc/self/oom_score_adj
exec setpriv --pdeathsig KILL -- "$@"`;

/** Signals with which V8, GLib, libuv and the C++ runtime end a process that cannot allocate memory. */
const ABORTS: readonly (NodeJS.Signals | null)[] = ['SIGABRT', 'SIGTRAP', 'SIGILL'];

function crash(code: number | null, signal: NodeJS.Signals | null, stderr: string): Error {
  const cause = new Error(`the job's process ended with ${signal ?? code}: ${stderr.trim()}`);
  if (ABORTS.includes(signal))
    return new ServiceError('source_too_large', {
      detail: 'Decoding the file needs more memory than this tool allows.',
      cause,
    });
  // The process was killed from outside, for example by the kernel's OOM killer, so the file is not the cause.
  if (signal === 'SIGKILL') return cause;
  return new ServiceError('corrupt_source', { detail: 'The file cannot be decoded.', cause });
}

function unpack<O>(outcome: Outcome<O>): O {
  if ('output' in outcome) return outcome.output;
  const { code, detail, members } = outcome;
  if (isErrorCode(code)) throw new ServiceError(code, { ...members, detail });
  throw new Error(detail);
}

function start(memoryBytes: number, programs: string | null): ChildProcess {
  const kilobytes = Math.ceil((MAPPED_BYTES + memoryBytes) / 1024);
  const command = [process.execPath, '--expose-gc', `--max-old-space-size=${HEAP_MB}`, CHILD];
  return spawn('/bin/sh', ['-c', LIMIT_SCRIPT, 'sh', `${kilobytes}`, ...command], {
    // The child does not inherit the environment of this process, which contains secrets.
    env: { ...programVariables(programs), TMPDIR: tmpdir(), LANG: 'C.UTF-8' },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    serialization: 'advanced',
    // The child gets its own process group, so that Ctrl-C in a terminal does not end a job.
    detached: true,
  });
}

/** Starts a child process that never outlives this process, even when this process is killed. */
export function startDecoder({ memoryBytes, programs = null, log }: DecoderOptions): Decoder {
  const child = start(memoryBytes, programs);
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
        : new Error(`the job's process did not start (${signal ?? code}): ${stderr.trim()}`),
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
      // Errors of `send` are ignored: if the channel is closed, the child has exited and `end` rejects the promise.
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
      // `ref` and `unref` are called by reflection, because the type of the pipe lacks them; at run time the pipe is a
      // socket.
      for (const handle of [child, child.channel, child.stderr]) {
        const method: unknown = handle && Reflect.get(handle, awake ? 'ref' : 'unref');
        if (typeof method === 'function') Reflect.apply(method, handle, []);
      }
    },
    kill,
  };
}
