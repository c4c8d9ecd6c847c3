import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { install, isInstalled } from './install.mjs';
import { noticeOf } from './node-version.mjs';
import { unpackServerPrograms, unpackTools } from './programs/unpack.mjs';

// This file runs before the packages are installed, on the Node version that runs npm (20 or later), so it is plain
// JavaScript.

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const NODE_MAJOR = 24;

/** Returns the path of the Node in node_modules, else that of the running Node, whichever is new enough. */
function findNode() {
  const candidates = [join(root, 'node_modules/.bin/node'), process.execPath];
  const found = candidates.find((path) => {
    const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 });
    return Number(/^v(\d+)/.exec(stdout ?? '')?.[1]) >= NODE_MAJOR;
  });
  if (found === undefined)
    throw new Error(
      `Node ${NODE_MAJOR} is required, but this is ${process.version} and the npm package "node" did not install it. Allow install scripts and run the command again, or install Node ${NODE_MAJOR}.`,
    );
  return found;
}

/**
 * Fetches what `npm start` needs from Debian, while the packages are installed. Errors are ignored: dev/main.ts fetches what
 * is still missing, and reports errors.
 */
async function fetchPrograms(signal) {
  await Promise.allSettled(
    [unpackTools, unpackServerPrograms].map((unpack) => unpack({ log: console.log, signal })),
  );
}

/**
 * Installs missing packages, runs a TypeScript file of the project on Node 24, and exits with the exit code of that
 * process.
 *
 * A stop signal, or the end of the parent process (for example because npm was killed), is forwarded to the child
 * process as a signal. If this process is killed, its IPC channel to the child closes, and the child stops.
 *
 * @param {{ withTools?: boolean }} options `withTools`: fetches the programs of the tools while packages are installed
 */
export async function run(script, args, { withTools = false } = {}) {
  let child;
  let stopping;
  let fetching;
  const abort = new AbortController();
  const stop = (signal) => {
    stopping ??= signal;
    abort.abort();
    child?.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(signal));
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && stop('SIGTERM'), 500).unref();

  const runChild = (file, childArgs, options) =>
    new Promise((resolve, reject) => {
      child = spawn(file, childArgs, { cwd: root, ...options });
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
    });

  try {
    const notice = noticeOf(process.versions.node);
    if (notice !== null) console.error(notice);
    // main.ts waits for programs that are still being fetched then.
    if (withTools && !isInstalled(root)) fetching = fetchPrograms(abort.signal);
    await install(root, (file, childArgs, env) =>
      runChild(file, childArgs, { env, stdio: ['ignore', 'inherit', 'inherit'] }),
    );
    // All processes of the stack load the same modules. With Node's compile cache they start in 75% of the time.
    const env = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node'), ...process.env };
    // The child gets its own process group, so that Ctrl-C in the terminal signals only this process, which then stops
    // the others in order.
    process.exitCode = stopping
      ? 130
      : await runChild(findNode(), [script, ...args], {
          stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
          detached: true,
          env,
        });
  } catch (error) {
    console.error(stopping ? 'Stopped.' : error.message);
    process.exitCode = stopping ? 130 : 1;
  }
  abort.abort();
  await fetching;
  process.exit();
}
