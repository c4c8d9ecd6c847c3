import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Duplex } from 'node:stream';
import puppeteer, { type Browser } from 'puppeteer';
import { type NamespacePort, receivePort } from '../../egress/namespacePort.ts';
import { untilAborted } from '../../platform/untilAborted.ts';
import { programVariables } from '../runtime/programs.ts';
import { type Boundary, confine, makeProfile } from './boundary.ts';
import { DevtoolsPipe } from './devtoolsPipe.ts';
import { chromiumFlags, type Renderer } from './flags.ts';
import { killAll, memoryOf, processTree } from './processes.ts';

/** Options for starting a browser. */
export interface ChromiumOptions {
  /** Path of the Chromium executable. */
  program: string;
  /** Folder of unpacked Debian packages (PROGRAMS_DIR). Default: none. */
  programs?: string | null;
  boundary: Boundary;
  /**
   * Folder in which the browser's own folder is created. Chromium may run as another user, who must be able to traverse
   * it.
   */
  folder: string;
  /** Memory limit in bytes for all processes of the browser together. */
  memoryBytes: number;
  renderer?: Renderer;
  log(line: string): void;
}

/** A running browser. `kill` ends its processes and removes its files. */
export interface Chromium {
  browser: Browser;
  /** The port to which the browser connects, for the proxy of the current call. */
  entry: NamespacePort;
  /** Process id of the root of the browser's process tree. */
  pid: number;
  /** Why the browser exited; null while it runs. */
  readonly ended: 'memory' | 'killed' | 'crashed' | null;
  /** Resolves when the main process of the browser has exited. */
  exited: Promise<void>;
  /** Resolves when all processes of the browser have exited and its files are removed. */
  gone: Promise<void>;
  /** Kills the browser, even if it does not respond, and waits for `gone`. */
  kill(): Promise<void>;
}

const START_MS = 30_000;
const WATCH_EVERY_MS = 500;
/** Environment variables of Chromium. It inherits none of the worker's variables, some of which are secret. */
const environment = (profile: string, programs: string | null) => ({
  ...programVariables(programs),
  HOME: profile,
  TMPDIR: profile,
  LANG: 'en_US.UTF-8',
  TZ: 'UTC',
});

/** Bytes of Chromium's error output that describe why it did not start. */
const ERROR_BYTES = 2_000;

/** Starts the processes of a browser, and waits until the first one runs. @throws when it cannot be started */
async function spawnChromium(
  profile: string,
  { program, programs = null, boundary, renderer }: ChromiumOptions,
): Promise<ChildProcess> {
  await chmod(dirname(profile), 0o711);
  await makeProfile(profile);
  const flags = chromiumFlags(profile, renderer);
  const [command = '', ...args] = confine(boundary, { profile, chromium: program, flags });
  const child = spawn(command, args, {
    env: environment(profile, programs),
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe', 'ipc'],
    // In a process group of its own, so that all its processes can be killed together.
    detached: true,
  });
  await once(child, 'spawn');
  return child;
}

/** Connects to a browser that was just started. @throws when it ends or does not answer in time */
async function connect(child: ChildProcess): Promise<{ browser: Browser; entry: NamespacePort }> {
  const [, , errors, toBrowser, fromBrowser] = child.stdio;
  if (!(toBrowser instanceof Duplex && fromBrowser instanceof Duplex))
    throw new Error('Chromium has no pipes');
  let output = '';
  errors?.on('data', (chunk: Buffer) => {
    if (output.length < ERROR_BYTES) output += chunk.toString();
  });
  const signal = AbortSignal.timeout(START_MS);
  let entry: NamespacePort | undefined;
  try {
    entry = await receivePort(child, signal);
    const transport = new DevtoolsPipe(toBrowser, fromBrowser);
    const browser = await untilAborted(
      puppeteer.connect({ transport, defaultViewport: null, protocolTimeout: 0, issuesEnabled: false }),
      signal,
    );
    return { browser, entry };
  } catch (error) {
    entry?.[Symbol.dispose]();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason}\n${output.slice(0, ERROR_BYTES)}`, { cause: error });
  }
}

/**
 * Starts a browser with the isolation that `options.boundary` describes.
 *
 * @throws when Chromium does not start; its files have then been removed
 */
export async function startChromium(options: ChromiumOptions): Promise<Chromium> {
  const { log } = options;
  const folder = await mkdtemp(join(options.folder, 'b'));
  const cleanUp = () =>
    rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch((error: unknown) =>
      log(
        `the folder ${folder} of a browser could not be removed: ${error instanceof Error ? error.message : error}`,
      ),
    );
  let child: ChildProcess;
  try {
    child = await spawnChromium(join(folder, 'profile'), options);
  } catch (error) {
    await cleanUp();
    throw error;
  }
  const pid = child.pid ?? Number.NaN;
  let ended: Chromium['ended'] = null;
  let members: readonly number[] = [];

  const end = (reason: 'memory' | 'killed'): void => {
    ended ??= reason;
    if (child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-pid, 'SIGKILL');
  };
  const watch = setInterval(() => {
    members = processTree(pid);
    if (memoryOf(members) > options.memoryBytes) end('memory');
  }, WATCH_EVERY_MS);
  const exited = new Promise<void>((resolve) => {
    const onExit = () => {
      ended ??= 'crashed';
      resolve();
    };
    if (child.exitCode !== null || child.signalCode !== null) onExit();
    child.once('exit', onExit);
  });
  const gone = exited.then(async () => {
    clearInterval(watch);
    await killAll(members);
    await cleanUp();
  });
  const kill = async () => {
    end('killed');
    await gone;
  };
  try {
    const { browser, entry } = await connect(child);
    void exited.then(() => entry[Symbol.dispose]());
    return {
      browser,
      entry,
      pid,
      get ended() {
        return ended;
      },
      exited,
      gone,
      kill,
    };
  } catch (error) {
    await kill();
    throw error;
  }
}
