import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '../egress/clock.ts';
import { followOutput, logStream, openLog } from './logs.ts';
import { type Log, StartError } from './start-error.ts';

/** How a process is started, seen to be ready, and logged. */
export interface ProcessOptions<R> {
  name: string;
  /** Asked at each start. ipc: it has a channel to us, and ends when that closes. */
  command(): { file: string; args: string[]; env: Record<string, string>; ipc: boolean };
  /** What has to be there before it starts. */
  prepare?(): Promise<unknown>;
  /** Resolves when the process is of use; rejects when `signal` aborts (it died, or took too long). */
  ready(child: ChildProcess, signal: AbortSignal): Promise<R>;
  /**
   * Does what its users need of it; rejects when it cannot, or when `signal` aborts. Where it is given, a supervised
   * process that is not useful for 15 s is killed and started again.
   */
  useful?(signal: AbortSignal): Promise<unknown>;
  /** Milliseconds it may take to be ready. */
  readyMs: number;
  /** Milliseconds between SIGTERM and SIGKILL. */
  graceMs: number;
  logDir: string;
  /** Warnings and errors in its output go to `log`; else its output only goes to its file. */
  showOutput: boolean;
  /** A program that does not know us, run by `tethered`: its whole group is signalled, its channel left alone. */
  foreign: boolean;
  log: Log;
  /** Start it again when it dies without having been told to, or runs without being useful. */
  supervise: boolean;
  /** Gives up the start. */
  signal?: AbortSignal | undefined;
}

/** A useful process is asked this often, and has this long to answer. Milliseconds. */
const ASK_EVERY_MS = 2_000;
const ANSWER_MS = 5_000;
/**
 * A process that was not useful for this long is started again. After a stand-still of the whole machine one question
 * alone may have taken as long: hence also the number of failures in a row.
 */
const USELESS_MS = 15_000;
const USELESS_FAILURES = 3;
/** A useless process has this long to end after SIGTERM. Milliseconds. */
const USELESS_GRACE_MS = 5_000;

/** Waits before the restarts of a process that keeps dying; the last one repeats. Milliseconds. */
const BACK_OFF = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
/** A process that lived this long is not one that keeps dying. */
const HEALTHY_MS = 60_000;

/**
 * Runs what follows without core dumps: a crash must write no secret to a disk. By POSIX's shell, which gives its place,
 * pid and all, to the program; prlimit is Linux's alone.
 */
const WITHOUT_CORE = ['-c', 'ulimit -c 0 && exec "$@"', 'sh'];

/** One process that we own: started, watched, signalled and ended by its pid. */
export class OwnedProcess<R> {
  readonly #options: ProcessOptions<R>;
  #child: ChildProcess | undefined;
  #exited: Promise<string> = Promise.resolve('not started');
  /** Aborted when the start that is under way, if any, is to be given up. */
  #attempt = new AbortController();
  #wanted = false;
  #failures = 0;
  #restart: { timer: AbortController; done: Promise<void> } | undefined;

  constructor(options: ProcessOptions<R>) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** undefined while it is down. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** @throws StartError when it dies or is not ready in time; it is dead then */
  async start(): Promise<R> {
    this.#wanted = true;
    try {
      return await this.#launch();
    } catch (error) {
      this.#wanted = false;
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
    const child = this.#spawn();
    const exited = this.#exited;
    exited.then((how) => attempt.abort(new Error(`it ended (${how})`)));
    const late = AbortSignal.timeout(readyMs);
    try {
      const result = await ready(child, AbortSignal.any([attempt.signal, late, ...(signal ? [signal] : [])]));
      if (this.#options.supervise) void this.#watch(attempt.signal);
      exited.then((how) => {
        if (Date.now() - started > HEALTHY_MS) this.#failures = 0;
        this.#onDeath(how);
      });
      return result;
    } catch (error) {
      this.#signal('SIGKILL', true);
      await exited;
      if (signal?.aborted) throw signal.reason;
      const reason = late.aborted ? `not ready after ${readyMs / 1000} s` : describe(error);
      throw new StartError(`${name} did not start: ${reason}; see ${join(logDir, `${name}.log`)}`, {
        cause: error,
      });
    }
  }

  #spawn(): ChildProcess {
    const { name, logDir, showOutput, log } = this.#options;
    const { file, args, env, ipc } = this.#options.command();
    // Before the process: where the log cannot be opened there is none to end.
    const target = showOutput ? logStream(logDir, name, log) : undefined;
    const fd = showOutput ? undefined : openLog(logDir, name);
    const output = fd ?? 'pipe';
    const stdio = ipc ? (['ignore', output, output, 'ipc'] as const) : (['ignore', output, output] as const);
    // A process group of its own, so that Ctrl-C in the terminal reaches us alone and the stop has an order.
    const child = spawn('/bin/sh', [...WITHOUT_CORE, file, ...args], {
      env,
      stdio: [...stdio],
      detached: true,
    });
    if (fd !== undefined) closeSync(fd);
    if (target !== undefined && child.stdout !== null && child.stderr !== null) {
      followOutput(child.stdout, target, name, log);
      followOutput(child.stderr, target, name, log);
      child.once('close', () => target.end());
    }
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      const end = (how: string) => {
        if (this.#child === child) this.#child = undefined;
        resolve(how);
      };
      child.once('error', (error) => child.pid === undefined && end(error.message));
      child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
    });
    return child;
  }

  /** Asks a running process whether it is useful until it ends, and ends it when it is not. */
  async #watch(ended: AbortSignal): Promise<void> {
    const { name, useful, log } = this.#options;
    if (useful === undefined) return;
    for (let [failures, since] = [0, 0]; ; ) {
      await sleep(ASK_EVERY_MS, undefined, { signal: ended }).catch(() => undefined);
      if (ended.aborted) return;
      const asked = Date.now();
      try {
        await withDeadline(useful, ANSWER_MS);
        failures = 0;
        continue;
      } catch (error) {
        if (ended.aborted) return;
        if (failures++ === 0) since = asked;
        if (failures < USELESS_FAILURES || Date.now() - since < USELESS_MS) continue;
        log(`${name} has not worked for ${USELESS_MS / 1000} s (${describe(error)}); restarting it`);
      }
      // A stopped process (SIGSTOP) would not see the SIGTERM.
      this.#signal('SIGCONT');
      this.#signal('SIGTERM');
      await sleep(USELESS_GRACE_MS, undefined, { signal: ended }).catch(() => undefined);
      if (!ended.aborted) this.#signal('SIGKILL', true);
      return;
    }
  }

  #onDeath(how: string): void {
    if (!this.#wanted || !this.#options.supervise || this.#options.signal?.aborted) return;
    const wait = BACK_OFF[Math.min(this.#failures++, BACK_OFF.length - 1)] ?? 0;
    this.#options.log(`${this.name} died (${how}); starting it again in ${wait / 1000} s`);
    const timer = new AbortController();
    const done = sleep(wait, undefined, { signal: timer.signal })
      .then(() => this.#launch())
      .then(
        () => this.#options.log(`${this.name} is back`),
        (error: unknown) => this.#onDeath(describe(error)),
      );
    this.#restart = { timer, done };
  }

  async #cancelRestart(): Promise<void> {
    this.#wanted = false;
    this.#restart?.timer.abort();
    this.#attempt.abort(new Error('it was stopped'));
    await this.#restart?.done;
    this.#restart = undefined;
  }

  #signal(signal: NodeJS.Signals, group = this.#options.foreign): void {
    const child = this.#child;
    if (child?.pid === undefined) return;
    try {
      process.kill(group ? -child.pid : child.pid, signal);
      // The open channel would keep its event loop alive when all its work is done.
      if (signal === 'SIGTERM' && !this.#options.foreign && child.connected) child.disconnect();
    } catch (error) {
      // It ended by itself just now.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }

  /** Tells it something over its channel, as far as it listens. */
  tell(message: object): void {
    if (this.#child?.connected) this.#child.send(message, () => undefined);
  }

  /** Sends a signal; one that ends it has ended it when this resolves, and it stays down. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const ends = signal === 'SIGKILL' || signal === 'SIGTERM' || signal === 'SIGINT';
    if (ends) this.#wanted = false;
    this.#signal(signal);
    if (ends) await this.#exited;
  }

  /** SIGTERM, a grace, then SIGKILL to it and what it left in its group. Safe to call at any time and again. */
  async stop(): Promise<void> {
    await this.#cancelRestart();
    if (this.#child === undefined) return;
    // A stopped process (SIGSTOP) would not see the SIGTERM.
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

/** @throws the reason of its signal, at the latest when the time is up */
function withDeadline(step: (signal: AbortSignal) => Promise<unknown>, ms: number): Promise<unknown> {
  const signal = AbortSignal.timeout(ms);
  return untilAborted(step(signal), signal);
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));
