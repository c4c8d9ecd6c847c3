import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import puppeteer, { type Browser } from 'puppeteer';
import { programVariables } from '../runtime/programs.ts';
import { type Boundary, confine, makeProfile } from './boundary.ts';
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
  /** Path of the Unix socket on which the proxy of the current call listens. */
  socket: string;
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

/**
 * Starts a browser with the isolation that `options.boundary` describes.
 *
 * @throws when Chromium does not start; its files have then been removed
 */
export async function startChromium(options: ChromiumOptions): Promise<Chromium> {
  const { program, programs = null, boundary, memoryBytes, renderer, log } = options;
  const folder = await mkdtemp(join(options.folder, 'b'));
  const cleanUp = () =>
    rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch((error: unknown) =>
      log(
        `the folder ${folder} of a browser could not be removed: ${error instanceof Error ? error.message : error}`,
      ),
    );
  const socket = join(folder, 'proxy.sock');
  const profile = join(folder, 'profile');
  let browser: Browser;
  try {
    await chmod(folder, 0o711);
    await makeProfile(profile);
    const flags = chromiumFlags(profile, renderer);
    browser = await puppeteer.launch({
      // The first argument is a command name without a path, which `env` looks up on PATH.
      executablePath: '/usr/bin/env',
      ignoreDefaultArgs: true,
      args: confine(boundary, { socket, profile, chromium: program, flags }),
      pipe: true,
      env: environment(profile, programs),
      timeout: START_MS,
      waitForInitialPage: false,
      defaultViewport: null,
      handleSIGHUP: false,
      handleSIGINT: false,
      handleSIGTERM: false,
      protocolTimeout: 0,
    });
  } catch (error) {
    await cleanUp();
    throw error;
  }
  const child = browser.process();
  if (child?.pid === undefined) throw new Error('Chromium has no process');
  const { pid } = child;
  let ended: Chromium['ended'] = null;

  let members: readonly number[] = [];

  const end = (reason: 'memory' | 'killed'): void => {
    ended ??= reason;
    if (child.exitCode !== null || child.signalCode !== null) return;
    process.kill(-pid, 'SIGKILL');
  };
  const watch = setInterval(() => {
    members = processTree(pid);
    if (memoryOf(members) > memoryBytes) end('memory');
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
  return {
    browser,
    socket,
    pid,
    get ended() {
      return ended;
    },
    exited,
    gone,
    async kill() {
      end('killed');
      await gone;
    },
  };
}
