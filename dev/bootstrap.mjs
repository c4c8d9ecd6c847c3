import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { install } from './install.mjs';

// Runs on the Node that runs npm (20 or later), before anything is installed.

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const NODE_MAJOR = 24;

/** The Node of node_modules, or the one we run on where that is new enough. */
function findNode() {
  const candidates = [join(root, 'node_modules/.bin/node'), process.execPath];
  const found = candidates.find((path) => {
    const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 });
    return Number(/^v(\d+)/.exec(stdout ?? '')?.[1]) >= NODE_MAJOR;
  });
  if (found === undefined)
    throw new Error(
      `Node ${NODE_MAJOR} is needed: the package "node" did not install it (install scripts off?), and this is ${process.version}`,
    );
  return found;
}

/**
 * Installs what is missing, runs a TypeScript file of the project on Node 24, and exits as it does.
 *
 * It ends when it is told to and when its parent is gone (npm killed), and passes that on; the child ends by itself
 * when this process is gone, because their channel closes.
 */
export async function run(script, args) {
  let child;
  let stopping;
  const stop = (signal) => {
    stopping ??= signal;
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
    await install(root, (file, childArgs, env) =>
      runChild(file, childArgs, { env, stdio: ['ignore', 'inherit', 'inherit'] }),
    );
    // Every process loads the same modules: stripped of their types and compiled once, they start in three quarters of the time.
    const env = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node'), ...process.env };
    // A session of its own: Ctrl-C in the terminal reaches this process alone, so that the stop has an order.
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
  process.exit();
}
