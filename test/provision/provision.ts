import { relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import pMap from 'p-map';
import type { Log } from '../../dev/start-error.ts';
import { importedFiles } from './imports.ts';
import { Item } from './item.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Modules that export items. Each test or helper imports the items that it needs. */
const ITEMS = 'test/provision/items/';
/** Number of items that are fetched at the same time. Compiling uses all cores; downloads wait for the network. */
const CONCURRENCY = 2;
const CHECKED_AT_ONCE = 4;
/** Milliseconds between lines about an item that is being fetched. */
const PROGRESS_MS = 15_000;

/**
 * Returns the items that test files need: the exports of the modules in `items/` that they import, directly or through
 * helpers.
 *
 * @param files paths from the root of the project, or absolute
 */
export async function itemsOf(files: readonly string[]): Promise<Item[]> {
  const imported = importedFiles(files.map((file) => resolve(root, file)));
  const found = new Set<Item>();
  for (const file of imported) {
    if (!relative(root, file).startsWith(ITEMS)) continue;
    const module: Record<string, unknown> = await import(pathToFileURL(file).href);
    for (const value of Object.values(module)) if (value instanceof Item) found.add(value);
  }
  for (const item of found) for (const needed of item.needs) found.add(needed);
  return [...found];
}

const duration = (seconds: number): string =>
  seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;

/**
 * Fetches the programs and packages that these test files need and that are missing in this user's cache. The runner
 * calls it before the first test.
 *
 * @param files paths from the root of the project, or absolute
 * @throws StartError when one cannot be fetched
 */
export const provisionFor = async (files: readonly string[], log: Log, signal: AbortSignal): Promise<void> =>
  fetchAll(await itemsOf(files), log, signal);

/**
 * Fetches those of the items that are missing. Logs what it fetches, how long that usually takes, and its progress.
 *
 * @throws StartError when one cannot be fetched; the others are then stopped
 */
export async function fetchAll(items: readonly Item[], log: Log, signal: AbortSignal): Promise<void> {
  const missing = (
    await pMap(items, async (item) => ((await item.isPresent(signal)) ? [] : [item]), {
      concurrency: CHECKED_AT_ONCE,
      signal,
    })
  ).flat();
  if (missing.length === 0) return;
  const total = missing.reduce((sum, { usually }) => sum + usually, 0) / CONCURRENCY;
  log(`Fetching ${missing.length} programs and packages that these tests need. This happens once for each`);
  log(`version of them, and usually takes ${duration(total)} on two quiet cores.`);
  const failure = new AbortController();
  const either = AbortSignal.any([signal, failure.signal]);
  let done = 0;
  const fetch = async (item: Item): Promise<void> => {
    either.throwIfAborted();
    const start = performance.now();
    const spent = () => duration((performance.now() - start) / 1000);
    const line = (text: string) => log(`[${done}/${missing.length}] ${text}`);
    line(`${item.name}: usually takes ${duration(item.usually)}`);
    const timer = setInterval(
      () => line(`${item.name}: ${spent()} of usually ${duration(item.usually)}`),
      PROGRESS_MS,
    );
    try {
      await item.get(line, either);
      done += 1;
      line(`${item.name}: fetched in ${spent()}`);
    } catch (error) {
      failure.abort(error);
      throw error;
    } finally {
      clearInterval(timer);
    }
  };
  // Items that others need come first; of the rest, the slowest.
  const needed = new Set(missing.flatMap(({ needs }) => needs));
  const first = missing.filter((item) => needed.has(item));
  const rest = missing.filter((item) => !needed.has(item)).sort((a, b) => b.usually - a.usually);
  for (const group of [first, rest])
    await pMap(group, fetch, { concurrency: CONCURRENCY, stopOnError: false }).catch((error: unknown) => {
      throw error instanceof AggregateError ? error.errors[0] : error;
    });
}
