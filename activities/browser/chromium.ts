import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import puppeteer, { type Browser } from 'puppeteer';
import { type Boundary, confine, makeProfile } from './boundary.ts';
import { chromiumFlags, type Renderer } from './flags.ts';
import { memoryOf, processTree, untilGone } from './processes.ts';

/** How a browser is started. */
export interface ChromiumOptions {
  /** Path of the program. */
  program: string;
  boundary: Boundary;
  /** Where it makes its folder; other users must be able to pass through. */
  folder: string;
  /** Bytes that all its processes together may hold. */
  memoryBytes: number;
  renderer?: Renderer;
}

/** One running browser; all of it, processes and files, ends with `kill`. */
export interface Chromium {
  browser: Browser;
  /** Where the proxy of the job that runs must listen. */
  socket: string;
  /** The process that everything else is under. */
  pid: number;
  /** Why it ended, once it has. */
  readonly ended: 'memory' | 'killed' | 'crashed' | null;
  /** Resolves when it has ended, whatever the reason, and nothing of it is left. */
  gone: Promise<void>;
  /** Ends it, at once, however it hangs. */
  kill(): Promise<void>;
}

const START_MS = 20_000;
const WATCH_EVERY_MS = 500;
/** Below this Chromium keeps its shared memory in its profile instead (Docker gives 64 MB). */
const SHARED_BYTES = 512_000_000;

async function sharedMemoryFlags(): Promise<string[]> {
  const { bavail, bsize } = await statfs('/dev/shm').catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize < SHARED_BYTES ? ['--disable-dev-shm-usage'] : [];
}

/** The environment holds no more than a program needs: nothing of ours is Chromium's business. */
const environment = (profile: string) => ({
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: profile,
  TMPDIR: profile,
  LANG: 'en_US.UTF-8',
  TZ: 'UTC',
});

/** Starts a browser behind its boundary. @throws when it does not start; nothing of it is left then */
export async function startChromium(options: ChromiumOptions): Promise<Chromium> {
  const { program, boundary, memoryBytes, renderer } = options;
  const folder = await mkdtemp(join(options.folder, 'b'));
  const cleanUp = () => rm(folder, { recursive: true, force: true, maxRetries: 5 });
  const socket = join(folder, 'proxy.sock');
  const profile = join(folder, 'profile');
  let browser: Browser;
  try {
    await chmod(folder, 0o711);
    await makeProfile(profile);
    const flags = [...chromiumFlags(profile, renderer), ...(await sharedMemoryFlags())];
    browser = await puppeteer.launch({
      // Finds what follows on PATH.
      executablePath: '/usr/bin/env',
      ignoreDefaultArgs: true,
      args: confine(boundary, { socket, profile, chromium: program, flags }),
      pipe: true,
      env: environment(profile),
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
    if (child.exitCode !== null || child.signalCode !== null) resolve();
    child.once('exit', () => resolve());
  });
  const gone = exited.then(async () => {
    ended ??= 'crashed';
    clearInterval(watch);
    await untilGone(members);
    await cleanUp();
  });
  return {
    browser,
    socket,
    pid,
    get ended() {
      return ended;
    },
    gone,
    async kill() {
      end('killed');
      await gone;
    },
  };
}
