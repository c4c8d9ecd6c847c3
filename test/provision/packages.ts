import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clientEnv } from '../../dev/host.mjs';
import { run } from '../../dev/programs/run.ts';
import type { Log } from '../../dev/start-error.ts';
import { Item } from './item.ts';

/** Time limits for a package client. Compiling a large program in Go prints nothing for minutes. */
export const FETCH = { idleMs: 300_000, totalMs: 1_800_000 };
/** A program that is written last, so that a folder with it is complete. */
const MARKER = 'complete';

interface PackageFolder {
  name: string;
  /** Packages with their versions. */
  packages: readonly string[];
  /** Completes the log line "Fetching … with". */
  client: string;
  usually: number;
  needs?: readonly Item[];
  /** Names what a user must install if the command fails; completes the sentence "Install …". */
  help: string;
  /** Files that the folder contains before the command runs, by name. */
  files?: Readonly<Record<string, string>>;
  /** Script for sh that installs the packages, its arguments, into the current folder. */
  script: string;
  /** Environment variables for the script. */
  env?: (log: Log, signal: AbortSignal | undefined) => Promise<NodeJS.ProcessEnv>;
}

/** A folder of packages. Another list, script or file makes another folder in the cache. */
export function packageFolder(source: PackageFolder): Item {
  const { name, packages, client, usually, needs = [], help, files = {}, script, env } = source;
  const hash = createHash('sha256')
    .update(JSON.stringify([packages, files, script]))
    .digest('hex');
  return new Item({
    name: `${name} (${packages.join(', ')})`,
    cachedAs: `packages-of-${name.replaceAll(/\W+/g, '-')}-${hash.slice(0, 12)}`,
    within: MARKER,
    asFolder: true,
    usually,
    needs,
    help,
    sources: [
      {
        title: `with ${client}`,
        async fetch(folder, log, signal) {
          for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
          const options = { cwd: folder, folder, signal, ...FETCH };
          const all = { ...clientEnv(), ...(await env?.(log, signal)) };
          await run('sh', ['-ec', script, 'sh', ...packages], { env: all, ...options });
          await writeFile(join(folder, MARKER), '#!/bin/sh\n');
          return folder;
        },
      },
    ],
  });
}

/** A folder with packages from npm in its `node_modules`. Their install scripts do not run. */
export const npmPackages = (name: string, packages: readonly string[], usually: number): Item =>
  packageFolder({
    name,
    packages,
    client: 'npm',
    usually,
    help: 'npm.',
    files: { 'package.json': '{ "private": true, "type": "module" }\n' },
    script: 'npm install --ignore-scripts --no-audit --no-fund "$@"',
  });

/** A folder with Python packages from PyPI, without the packages that they depend on. */
export const unpackedWheels = (name: string, packages: readonly string[], usually: number): Item =>
  packageFolder({
    name,
    packages,
    client: 'pip',
    usually,
    help: 'Python 3 with pip (Debian: apt-get install python3-pip).',
    script: 'python3 -m pip install --no-deps --target . "$@"',
  });

/**
 * A virtual environment of Python with packages from PyPI, whose Python is `bin/python`.
 *
 * @param wheels packages whose wheels, with those of the packages that they depend on, are in the folder `wheels`
 */
export const pythonEnvironment = (
  name: string,
  packages: readonly string[],
  usually: number,
  wheels: readonly string[] = [],
): Item =>
  packageFolder({
    name,
    packages,
    client: 'pip',
    usually,
    help: 'Python 3 with venv (Debian: apt-get install python3-venv).',
    script: [
      'python3 -m venv --copies .',
      'bin/python -m pip install "$@"',
      ...wheels.map((wheel) => `bin/python -m pip download --dest wheels ${wheel}`),
    ].join('\n'),
  });
