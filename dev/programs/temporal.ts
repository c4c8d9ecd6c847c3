import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clientEnv } from '../host.mjs';
import type { Log } from '../start-error.ts';
import { findOrFetch, type Way } from './find.ts';
import { findGo } from './go.ts';
import { run } from './run.ts';

const ATTEMPT_MS = 20_000;
const DOWNLOAD_MS = 10 * 60_000;
const BUILD_MS = 40 * 60_000;
/** A big package or the linker is silent for this long on a slow machine. */
const BUILD_SILENCE_MS = 5 * 60_000;
const HEARTBEAT_MS = 20_000;
/** The newest tag that can be built as a dependency: later ones have a replace directive. Server 1.29.1, UI 2.42. */
const PACKAGE = 'github.com/temporalio/cli/cmd/temporal';
const VERSION = 'v1.5.1';
/**
 * In place of 1.34.1, which leaves a statement open when its query is cancelled after the first row was read: the server
 * then fails every statement with `interrupted (9)`, or never ends its write-ahead log. Temporal took this version too:
 * https://github.com/temporalio/temporal/pull/9198
 */
const DRIVER = 'modernc.org/sqlite@v1.44.3';

/** The release that the SDK downloads for its own tests. */
const download: Way = {
  title: 'from Temporal',
  async fetch(folder, _log, signal) {
    const script = fileURLToPath(new URL('./download-temporal.ts', import.meta.url));
    const limits = { idleMs: ATTEMPT_MS, totalMs: DOWNLOAD_MS, folder, signal };
    await run(process.execPath, [script, folder], { env: clientEnv(), ...limits });
    const [file] = await readdir(folder);
    if (file === undefined) throw new Error('nothing was downloaded');
    return join(folder, file);
  },
};

const build: Way = {
  title: 'by building it with Go',
  async fetch(folder, log, signal) {
    const go = await findGo(log, signal);
    log('Building the Temporal server, about 5 minutes on two cores, once …');
    const started = Date.now();
    const heartbeat = setInterval(() => {
      log(`  still building the Temporal server (${Math.round((Date.now() - started) / 1000)} s)`);
    }, HEARTBEAT_MS);
    const inFolder = (...args: string[]) =>
      run(go, args, {
        env: clientEnv(),
        cwd: folder,
        idleMs: ATTEMPT_MS,
        busyMs: BUILD_SILENCE_MS,
        totalMs: BUILD_MS,
        signal,
      });
    try {
      await inFolder('mod', 'init', 'temporal-with-driver');
      await inFolder('get', `${PACKAGE}@${VERSION}`, DRIVER);
      // Stripped of symbols it is a third smaller. -v names each package as it is compiled: the sign of progress.
      await inFolder('build', '-v', '-ldflags=-s -w', '-o', 'temporal', PACKAGE);
    } finally {
      clearInterval(heartbeat);
    }
    return join(folder, 'temporal');
  },
};

/** Path of the `temporal` CLI, which carries the development server and its UI. */
export const findTemporal = (log: Log, signal?: AbortSignal): Promise<string> =>
  findOrFetch(
    {
      name: 'temporal',
      cachedAs: 'temporal-2',
      ways: [download, build],
      help: 'the temporal CLI so that it is on PATH, or Go 1.21 or later to build it (a build that ran out of time goes on at the next start), or set TEMPORAL_ADDRESS.',
    },
    log,
    signal,
  );
