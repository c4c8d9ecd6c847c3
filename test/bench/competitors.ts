import { fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findBrowser } from '../helpers/browser.ts';
import { isRecord } from '../helpers/json.ts';
import { screenshotLibraries } from '../provision/items/comparisons.ts';

export type Competitor = 'capture-website' | 'browserless';

const START_MS = 60_000;
const SHOT_MS = 60_000;

/** A process that runs the other libraries with the same Chromium as the service. */
interface Competitors extends AsyncDisposable {
  /** Takes a screenshot of a page at 1440 x 900. @throws when it fails */
  shoot(competitor: Competitor, url: string): Promise<void>;
}

/** Starts the process of the libraries, in a temporary folder from which it finds them. */
export async function startCompetitors(): Promise<Competitors> {
  await using open = new AsyncDisposableStack();
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'bench-competitors-')), (it) =>
    rm(it, { recursive: true, force: true, maxRetries: 5 }),
  );
  const packages = await screenshotLibraries.get(console.error);
  await symlink(join(packages, 'node_modules'), join(folder, 'node_modules'));
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
