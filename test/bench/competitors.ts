import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findBrowser } from '../helpers/browser.ts';
import { isRecord } from '../helpers/json.ts';

/**
 * Other screenshot libraries. They are not dependencies of the project, because they are large and only used by this
 * benchmark.
 */
const PACKAGES = ['capture-website@5.1.0', 'browserless@10.12.13', 'puppeteer@24.43.1'];
export type Competitor = 'capture-website' | 'browserless';

const INSTALL_MS = 300_000;
const START_MS = 60_000;
const SHOT_MS = 60_000;

/** A process that runs the other libraries with the same Chromium as the service. */
export interface Competitors extends AsyncDisposable {
  /** Takes a screenshot of a page at 1440 x 900. @throws when it fails */
  shoot(competitor: Competitor, url: string): Promise<void>;
}

/** Installs the libraries from npm into a temporary folder and starts their process. */
export async function startCompetitors(): Promise<Competitors> {
  await using open = new AsyncDisposableStack();
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'bench-competitors-')), (it) =>
    rm(it, { recursive: true, force: true, maxRetries: 5 }),
  );
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  // Without install scripts, because puppeteer's script would download a browser.
  const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...PACKAGES];
  await promisify(execFile)('npm', install, { cwd: folder, timeout: INSTALL_MS });
  const script = join(folder, 'competitors.mjs');
  await copyFile(fileURLToPath(new URL('./competitors.mjs', import.meta.url)), script);

  const child = fork(script, [await findBrowser()], { execArgv: [] });
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
    else shot?.reject(new Error(`no screenshot: ${message.error}`));
  });
  let next = 0;
  const running = open.move();
  return {
    async shoot(competitor, url) {
      const id = next++;
      const shot = Promise.withResolvers<void>();
      waiting.set(id, shot);
      const late = setTimeout(
        () => shot.reject(new Error(`${competitor} did not take a screenshot in time`)),
        SHOT_MS,
      );
      child.send({ id, competitor, url });
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
