import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SHELL } from '../helpers/browser.ts';
import { isRecord } from '../helpers/json.ts';

/** What others take pictures with. Too much to be anybody's dependency for the sake of a comparison. */
const PACKAGES = ['capture-website@5.1.0', 'browserless@10.12.13', 'puppeteer@24.43.1'];
export type Peer = 'capture-website' | 'browserless';

const INSTALL_MS = 300_000;
const START_MS = 60_000;
const SHOT_MS = 60_000;

/** Their process, with the same Chromium as ours. */
export interface Peers extends AsyncDisposable {
  /** Takes a picture of a page at 1440 x 900. @throws when it fails */
  shoot(peer: Peer, url: string): Promise<void>;
}

/** Installs them from the registry into a folder that goes with them. */
export async function startPeers(): Promise<Peers> {
  await using open = new AsyncDisposableStack();
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'bench-peers-')), (it) =>
    rm(it, { recursive: true, force: true, maxRetries: 5 }),
  );
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  // Without scripts, for puppeteer's own would fetch a browser.
  const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...PACKAGES];
  await promisify(execFile)('npm', install, { cwd: folder, timeout: INSTALL_MS });
  const script = join(folder, 'peers.mjs');
  await copyFile(fileURLToPath(new URL('./peers.mjs', import.meta.url)), script);

  const child = fork(script, [SHELL], { execArgv: [] });
  open.defer(async () => {
    child.disconnect();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  await once(child, 'message', { signal: AbortSignal.timeout(START_MS) });

  const waiting = new Map<number, PromiseWithResolvers<void>>();
  child.on('message', (message) => {
    if (!isRecord(message)) return;
    const shot = waiting.get(Number(message.id));
    if (Number(message.bytes) > 0) shot?.resolve();
    else shot?.reject(new Error(`no picture: ${message.error}`));
  });
  let next = 0;
  const running = open.move();
  return {
    async shoot(peer, url) {
      const id = next++;
      const shot = Promise.withResolvers<void>();
      waiting.set(id, shot);
      const late = setTimeout(() => shot.reject(new Error(`${peer} takes no picture`)), SHOT_MS);
      child.send({ id, peer, url });
      try {
        await shot.promise;
      } finally {
        clearTimeout(late);
        waiting.delete(id);
      }
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
