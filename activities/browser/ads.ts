import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ENGINE_VERSION, FiltersEngine, Request } from '@ghostery/adblocker';
import type { HTTPRequest } from 'puppeteer';

/** Detects requests for ads and trackers by published filter lists. */
export interface Ads {
  isAd(request: HTTPRequest): boolean;
  /** Whether a filter list matches a request. @param type resource type of the DevTools protocol, in lower case */
  matches(request: { url: string; sourceUrl: string; type: string }): boolean;
}

/**
 * Folder of the filter lists in Debian's package `webext-ublock-origin-chromium`: EasyList, EasyPrivacy and uBlock's
 * own.
 */
export const DEBIAN_LISTS = '/usr/share/chromium/extensions/ublock-origin/assets';
/** Names of files in that package that are not lists of ads and trackers. */
const OTHER_LISTS = /effective_tld_names|badlists|README|resources/;

const BUILD_ENGINE = fileURLToPath(new URL('./buildAds.ts', import.meta.url));
/** Time limit for building the filter engine, which takes 1 s on an idle machine. */
const BUILD_MS = 60_000;

const TYPES: Readonly<Record<string, Parameters<typeof Request.fromRawDetails>[0]['type']>> = {
  document: 'sub_frame',
  stylesheet: 'stylesheet',
  image: 'image',
  media: 'media',
  font: 'font',
  script: 'script',
  xhr: 'xhr',
  fetch: 'xhr',
  eventsource: 'xhr',
  websocket: 'websocket',
  manifest: 'other',
  ping: 'ping',
};

async function listFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  return names
    .filter((name) => name.endsWith('.txt') && !OTHER_LISTS.test(name))
    .sort()
    .map((name) => join(folder, name));
}

/**
 * Returns the folder of Debian's filter lists: the installed one, or the one in the folder `programs` of unpacked packages if
 * the system has none.
 */
export async function findLists(programs: string | null): Promise<string> {
  const isInstalled = (await listFiles(DEBIAN_LISTS)).length > 0;
  return isInstalled || programs === null ? DEBIAN_LISTS : join(programs, DEBIAN_LISTS);
}

/**
 * Builds the filter engine for these lists in a process of its own, and writes it to a file. Building takes 100 MB, which V8 would
 * keep for hours in a process that is mostly idle.
 */
async function buildEngine(path: string, files: readonly string[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  // Another worker may write the same file at the same time. The rename replaces the file atomically.
  const draft = `${path}.${process.pid}`;
  await promisify(execFile)(process.execPath, [BUILD_ENGINE, draft, ...files], {
    env: {},
    timeout: BUILD_MS,
    killSignal: 'SIGKILL',
  });
  await rename(draft, path);
}

/** Reads the filter engine for these lists from the cache (10 ms), or builds and caches it (1 s). */
async function openEngine(files: readonly string[], cache: string): Promise<FiltersEngine> {
  const key = createHash('sha256').update(`${ENGINE_VERSION}`);
  for (const file of files) {
    const { mtimeMs, size } = await stat(file);
    key.update(`${file} ${mtimeMs} ${size}\n`);
  }
  const path = join(cache, `ads-${key.digest('hex').slice(0, 16)}.bin`);
  const read = async () => FiltersEngine.deserialize(await readFile(path));
  try {
    return await read();
  } catch {
    await buildEngine(path, files);
    return read();
  }
}

/**
 * Opens the filter lists of a folder.
 *
 * @param lists folder of filter lists in the syntax of Adblock Plus and uBlock
 * @param cache folder for the compiled filter engine
 * @returns null when the folder contains no lists
 */
export async function openAds(lists: string, cache: string): Promise<Ads | null> {
  const files = await listFiles(lists);
  if (files.length === 0) return null;
  const engine = await openEngine(files, cache);
  const matches: Ads['matches'] = ({ url, sourceUrl, type }) =>
    engine.match(Request.fromRawDetails({ url, sourceUrl, type: TYPES[type] ?? 'other' })).match;
  return {
    matches,
    isAd(request) {
      const frame = request.frame();
      const url = request.url();
      const ownPage = request.isNavigationRequest() && frame?.parentFrame() === null;
      if (ownPage || !/^(https?|wss?):/.test(url)) return false;
      return matches({ url, sourceUrl: frame?.url() ?? '', type: request.resourceType() });
    },
  };
}
