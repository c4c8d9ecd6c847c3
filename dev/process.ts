import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '../platform/untilAborted.ts';
import { forwardOutput, logStream, openLog } from './logs.ts';
import { type Log, StartError } from './start-error.ts';

/** How a process is started, checked and logged. */
interface ProcessOptions<R> {
  name: string;
  /**
   * Returns the command line; called at each start. `ipc`: whether the process gets an IPC channel to this process and
   * exits when that channel closes.
   */
  command(): { file: string; args: string[]; env: Record<string, string>; ipc: boolean };
  /** Prepares a start, for example creates folders. Called before each start. */
  prepare?(): Promise<unknown>;
  /**
   * Resolves when the process is ready; rejects when `signal` aborts because the process exited or its start timed out.
   */
  ready(child: ChildProcess, signal: AbortSignal): Promise<R>;
  /**
   * Checks whether the process works: rejects when it does not, or when `signal` aborts. A supervised process whose
   * check fails for 15 s is restarted. Optional.
   */
  checkHealth?(signal: AbortSignal): Promise<unknown>;
  /** Milliseconds within which the process must be ready after its start. */
  readyMs: number;
  /** Milliseconds between SIGTERM and SIGKILL when the process is stopped. */
  graceMs: number;
  logDir: string;
  /**
   * Whether to copy warnings and errors in the output of the process to `log`. If not, the output goes only to the log
   * file.
   */
  showOutput: boolean;
  /**
   * Whether the process is a third-party program, started through `tethered`. Signals then go to its process group.
   */
  thirdParty: boolean;
  log: Log;
  /** Whether to restart the process when it exits unexpectedly or fails its health checks. */
  supervise: boolean;
  /** Signal that cancels the start of the process when it aborts. */
  signal?: AbortSignal | undefined;
}

/** Pause in milliseconds between health checks, and the timeout of one check. */
const CHECK_EVERY_MS = 2_000;
const CHECK_TIMEOUT_MS = 5_000;
/**
 * A process is restarted when its health checks have failed for this long and this many times in succession. The number
 * of failures matters after the whole machine was suspended, because then a single check takes longer than
 * UNHEALTHY_MS.
 */
const UNHEALTHY_MS = 15_000;
const UNHEALTHY_CHECKS = 3;
/** Milliseconds between SIGTERM and SIGKILL for a process that fails its health checks. */
const UNHEALTHY_GRACE_MS = 5_000;

/** Delays in milliseconds before consecutive restarts of a process (backoff). The last delay repeats. */
const BACK_OFF = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
/** A process that ran for at least this many milliseconds before it exited is restarted with the first delay again. */
const STABLE_MS = 60_000;

/**
 * Shell arguments that run a program without core dumps, because a dump would write secrets to the disk. The shell
 * disables them and is then replaced by the program, which keeps its pid. `prlimit` would do the same, but exists only
 * on Linux.
 */
const WITHOUT_CORE = ['-c', 'ulimit -c 0 && exec "$@"', 'sh'];

/** Matches the line of Node's report of an uncaught error that names it: `TypeError: …`, `Error [CODE]: …`. */
const UNCAUGHT = /^\w*Error\b[^:]*: /;
/** Milliseconds for which the last output of a process is awaited after it has exited. */
const OUTPUT_MS = 1_000;

/** A child process that this process starts, supervises, signals and stops, by its pid. */
export class OwnedProcess<R> {
  readonly #options: ProcessOptions<R>;
  #child: ChildProcess | undefined;
  #exited: Promise<string> = Promise.resolve('not started');
  /** Aborts to cancel the current start of the process. */
  #attempt = new AbortController();
  #shouldRun = false;
  #failures = 0;
  #restart: { timer: AbortController; done: Promise<void> } | undefined;

  constructor(options: ProcessOptions<R>) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** Process id; undefined while the process is not running. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts the process and waits until it is ready.
   *
   * @throws StartError when the process does not become ready; it has then been killed
   */
  async start(): Promise<R> {
    this.#shouldRun = true;
    try {
      return await this.#launch();
    } catch (error) {
      this.#shouldRun = false;
      throw error;
    }
  }

  async #launch(): Promise<R> {
    const { name, prepare, ready, readyMs, signal, logDir } = this.#options;
    signal?.throwIfAborted();
    const started = Date.now();
    const attempt = new AbortController();
    this.#attempt = attempt;
    await prepare?.();
    let uncaught = '';
    const child = this.#spawn((line) => {
      uncaught = line;
    });
    const closed = once(child, 'close').catch(() => undefined);
    const exited = this.#exited;
    exited.then((reason) => attempt.abort(new Error(`the process ended (${reason})`)));
    const late = AbortSignal.timeout(readyMs);
    try {
      const result = await ready(child, AbortSignal.any([attempt.signal, late, ...(signal ? [signal] : [])]));
      if (this.#options.supervise) void this.#watch(attempt.signal);
      exited.then((reason) => {
        if (Date.now() - started > STABLE_MS) this.#failures = 0;
        this.#onExit(reason);
      });
      return result;
    } catch (error) {
      this.#signal('SIGKILL', true);
      await exited;
      await Promise.race([closed, sleep(OUTPUT_MS, undefined, { ref: false })]);
      if (signal?.aborted) throw signal.reason;
      const reason = late.aborted ? `not ready after ${readyMs / 1000} s` : describe(error);
      const why = uncaught === '' ? reason : `${reason}: ${uncaught}`;
      throw new StartError(`${name} did not start: ${why}. Its log: ${join(logDir, `${name}.log`)}`, {
        cause: error,
      });
    }
  }

  /** @param onUncaught receives the line of the output that names an uncaught error */
  #spawn(onUncaught: (line: string) => void): ChildProcess {
    const { name, logDir, showOutput, log } = this.#options;
    const { file, args, env, ipc } = this.#options.command();
    // The log is opened before the process is spawned, so that a failure to open it leaves no process behind.
    const target = showOutput ? logStream(logDir, name, log) : undefined;
    const fd = showOutput ? undefined : openLog(logDir, name);
    const output = fd ?? 'pipe';
    const stdio = ipc ? (['ignore', output, output, 'ipc'] as const) : (['ignore', output, output] as const);
    // The child gets its own process group, so that Ctrl-C in the terminal signals only this process, which then stops
    // the others in order.
    const child = spawn('/bin/sh', [...WITHOUT_CORE, file, ...args], {
      env,
      stdio: [...stdio],
      detached: true,
    });
    if (fd !== undefined) closeSync(fd);
    if (target !== undefined && child.stdout !== null && child.stderr !== null) {
      const show = (text: string) => {
        if (UNCAUGHT.test(text)) onUncaught(text);
        log(`${name}: ${text}`);
      };
      forwardOutput(child.stdout, target, show);
      forwardOutput(child.stderr, target, show);
      child.once('close', () => target.end());
    }
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      const end = (reason: string) => {
        if (this.#child === child) this.#child = undefined;
        resolve(reason);
      };
      child.once('error', (error) => child.pid === undefined && end(error.message));
      child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
    });
    return child;
  }

  /** Runs health checks until the process exits, and stops the process when they keep failing. */
  async #watch(ended: AbortSignal): Promise<void> {
    const { name, checkHealth, log } = this.#options;
    if (checkHealth === undefined) return;
    for (let [failures, since] = [0, 0]; ; ) {
      await sleep(CHECK_EVERY_MS, undefined, { signal: ended }).catch(() => undefined);
      if (ended.aborted) return;
      const checked = Date.now();
      try {
        await withDeadline(checkHealth, CHECK_TIMEOUT_MS);
        failures = 0;
        continue;
      } catch (error) {
        if (ended.aborted) return;
        if (failures++ === 0) since = checked;
        if (failures < UNHEALTHY_CHECKS || Date.now() - since < UNHEALTHY_MS) continue;
        log(
          `${name} failed its health checks for ${UNHEALTHY_MS / 1000} s (${describe(error)}). Restarting it.`,
        );
      }
      // A process that SIGSTOP has suspended handles SIGTERM only after SIGCONT.
      this.#signal('SIGCONT');
      this.#signal('SIGTERM');
      await sleep(UNHEALTHY_GRACE_MS, undefined, { signal: ended }).catch(() => undefined);
      if (!ended.aborted) this.#signal('SIGKILL', true);
      return;
    }
  }

  #onExit(reason: string): void {
    if (!this.#shouldRun || !this.#options.supervise || this.#options.signal?.aborted) return;
    const wait = BACK_OFF[Math.min(this.#failures++, BACK_OFF.length - 1)] ?? 0;
    this.#options.log(`${this.name} ended (${reason}). Restarting it in ${wait / 1000} s.`);
    const timer = new AbortController();
    const done = sleep(wait, undefined, { signal: timer.signal })
      .then(() => this.#launch())
      .then(
        () => this.#options.log(`${this.name} runs again`),
        (error: unknown) => this.#onExit(describe(error)),
      );
    this.#restart = { timer, done };
  }

  async #cancelRestart(): Promise<void> {
    this.#shouldRun = false;
    this.#restart?.timer.abort();
    this.#attempt.abort(new Error('the start was cancelled'));
    await this.#restart?.done;
    this.#restart = undefined;
  }

  #signal(signal: NodeJS.Signals, group = this.#options.thirdParty): void {
    const child = this.#child;
    if (child?.pid === undefined) return;
    try {
      process.kill(group ? -child.pid : child.pid, signal);
    } catch (error) {
      // ESRCH means that the process has already exited.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }

  /** Sends a message to the process over its IPC channel. Does nothing when the channel is closed. */
  send(message: object): void {
    if (this.#child?.connected) this.#child.send(message, () => undefined);
  }

  /**
   * Sends a signal to the process. If the signal is SIGKILL, SIGTERM or SIGINT, waits until the process exits, and does
   * not restart it.
   */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const ends = signal === 'SIGKILL' || signal === 'SIGTERM' || signal === 'SIGINT';
    if (ends) this.#shouldRun = false;
    this.#signal(signal);
    if (ends) await this.#exited;
  }

  /** Stops the process: sends SIGTERM and, after the grace period, SIGKILL to its process group. Idempotent. */
  async stop(): Promise<void> {
    await this.#cancelRestart();
    if (this.#child === undefined) return;
    // A process that SIGSTOP has suspended handles SIGTERM only after SIGCONT.
    this.#signal('SIGCONT');
    this.#signal('SIGTERM');
    const grace = new AbortController();
    const overdue = sleep(this.#options.graceMs, 'overdue', { signal: grace.signal }).catch(() => 'ended');
    if ((await Promise.race([this.#exited, overdue])) === 'overdue') {
      this.#options.log(`${this.name} did not stop within ${this.#options.graceMs / 1000} s and was killed`);
      this.#signal('SIGKILL', true);
    }
    await this.#exited;
    grace.abort();
  }
}

/** Runs a step with a signal that aborts after `ms` milliseconds. @throws the abort reason when the time is up */
function withDeadline(step: (signal: AbortSignal) => Promise<unknown>, ms: number): Promise<unknown> {
  const signal = AbortSignal.timeout(ms);
  return untilAborted(step(signal), signal);
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));
