import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cacheFolder, clientEnv } from './host.mjs';
import { acquireLock } from './lock.mjs';

function packages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages ?? {};
  } catch {
    return {};
  }
}

/**
 * Whether the packages in node_modules match package-lock.json. Compares it with npm's own list of installed packages.
 * Modification times would be unreliable, because git sets them at checkout and `npm install` writes both files.
 */
export function isInstalled(root) {
  const installed = packages(join(root, 'node_modules/.package-lock.json'));
  return (
    existsSync(join(root, 'node_modules/.bin')) &&
    Object.entries(packages(join(root, 'package-lock.json'))).every(
      ([path, { version, optional, devOptional }]) =>
        path === '' ||
        installed[path]?.version === version ||
        (!installed[path] && (optional || devOptional)),
    )
  );
}

const PROGRESS_MS = 5_000;

/** Logs at intervals how many of the packages of package-lock.json are there. @returns a function that ends that */
function showProgress(root) {
  const paths = Object.keys(packages(join(root, 'package-lock.json'))).filter((path) => path !== '');
  const timer = setInterval(() => {
    const done = paths.filter((path) => existsSync(join(root, path, 'package.json'))).length;
    console.log(`npm: ${done} of at most ${paths.length} packages`);
  }, PROGRESS_MS);
  return () => clearInterval(timer);
}

/** Environment variables for npm that keep onnxruntime-node from downloading GPU libraries from another registry. */
const PACKAGE_OPTIONS = { ONNXRUNTIME_NODE_INSTALL: 'skip' };

/**
 * Installs the package versions of package-lock.json unless they are installed. Does not use `npm ci`, because that
 * command rejects a lock file that lacks the optional packages of other systems, and deletes node_modules even while a
 * stack runs from it.
 *
 * @param {string} root folder of the project
 * @param {(file: string, args: string[], env: NodeJS.ProcessEnv) => Promise<number>} run runs a command and resolves
 *   with its exit code
 */
export async function install(root, run) {
  if (isInstalled(root)) return;
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16);
  let lock = await acquireLock(join(cacheFolder(), `install-${name}.lock`));
  if (lock === null) console.log('Another process is installing the packages. Waiting for it to finish …');
  while (lock === null) {
    await sleep(500);
    lock = await acquireLock(join(cacheFolder(), `install-${name}.lock`));
  }
  try {
    if (isInstalled(root)) return;
    console.log('npm: installing the packages of package-lock.json, once: usually 1 to 2 min …');
    const options = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
    const stopProgress = showProgress(root);
    const code = await run('npm', ['install', ...options], { ...clientEnv(), ...PACKAGE_OPTIONS }).finally(
      stopProgress,
    );
    if (code !== 0) throw new Error(`npm install failed (exit code ${code}). Its output is above.`);
  } finally {
    await lock.release();
  }
}
