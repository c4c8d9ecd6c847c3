import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cacheFolder, clientEnv } from './host.mjs';
import { takeLock } from './lock.mjs';

function packages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages ?? {};
  } catch {
    return {};
  }
}

/**
 * Whether node_modules holds what the lock file names. npm keeps its own list of what it installed; comparing the
 * two is exact where modification times are not (git sets them at checkout, `npm install` writes both files).
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

/** Else onnxruntime-node fetches GPU libraries from another registry. */
const PACKAGE_OPTIONS = { ONNXRUNTIME_NODE_INSTALL: 'skip' };

/**
 * Installs the versions of the lock file, unless they are there. Not by `npm ci`: it refuses a lock file that was
 * written where the optional packages of other systems could not be had, and it empties node_modules first, also
 * under a stack that runs from it.
 *
 * @param {string} root folder of the project
 * @param {(file: string, args: string[], env: NodeJS.ProcessEnv) => Promise<number>} run resolves with the exit code
 */
export async function install(root, run) {
  if (isInstalled(root)) return;
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16);
  let lock = await takeLock(join(cacheFolder(), `install-${name}.lock`));
  if (lock === null) console.log('Another start is installing the packages; waiting for it …');
  while (lock === null) {
    await sleep(500);
    lock = await takeLock(join(cacheFolder(), `install-${name}.lock`));
  }
  try {
    if (isInstalled(root)) return;
    console.log('Installing the packages of package-lock.json, a few minutes, once …');
    const options = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
    const code = await run('npm', ['install', ...options], { ...clientEnv(), ...PACKAGE_OPTIONS });
    if (code !== 0) throw new Error(`npm install failed (exit code ${code}); its messages are above`);
  } finally {
    await lock.release();
  }
}
