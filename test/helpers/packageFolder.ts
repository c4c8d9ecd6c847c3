import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { clientEnv } from '../../dev/host.mjs';
import { findOrFetch } from '../../dev/programs/find.ts';
import { run } from '../../dev/programs/run.ts';

type Log = (line: string) => void;

/** Time limit in milliseconds for npm or pip to download packages. */
const FETCH = { idleMs: 300_000, totalMs: 900_000 };
/** A program that is written last, so that a folder with it is complete. */
const MARKER = 'complete';

export interface PackageFolder {
  name: string;
  /** Packages with their versions. Other versions have another folder in the cache. */
  packages: readonly string[];
  /** Names what a user must install if the command fails; completes the sentence "Install …". */
  help: string;
  /** Command that installs the packages into the current folder. */
  command: (packages: readonly string[]) => [file: string, ...args: string[]];
  /** Files that the folder contains before the command runs, by name. */
  files?: Readonly<Record<string, string>>;
}

/** Returns the path of a folder in this user's cache with packages that npm, pip or another client installs if they are missing. */
export async function findPackageFolder(source: PackageFolder, log: Log): Promise<string> {
  const { name, packages, help, command, files = {} } = source;
  const hash = createHash('sha256')
    .update(JSON.stringify([packages, files]))
    .digest('hex');
  const [client, ...args] = command(packages);
  const found = await findOrFetch(
    {
      name: `packages-of-${name}`,
      cachedAs: `packages-of-${name}-${hash.slice(0, 12)}`,
      within: MARKER,
      help,
      sources: [
        {
          title: `with ${client}`,
          async fetch(folder, _log, signal) {
            for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
            await run(client, args, { env: clientEnv(), cwd: folder, folder, signal, ...FETCH });
            await writeFile(join(folder, MARKER), '#!/bin/sh\n');
            return folder;
          },
        },
      ],
    },
    log,
  );
  return dirname(found);
}

/** Returns the path of a folder with packages from npm in its `node_modules`. Their install scripts do not run. */
export const findNpmPackages = (name: string, packages: readonly string[], log: Log): Promise<string> =>
  findPackageFolder(
    {
      name,
      packages,
      help: 'npm.',
      files: { 'package.json': '{ "private": true, "type": "module" }\n' },
      command: (list) => ['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', ...list],
    },
    log,
  );
