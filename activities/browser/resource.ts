import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '../../schemas/errors.ts';
import { POOL_TABLE } from '../../schemas/pools.ts';
import { isFile } from '../runtime/isFile.ts';
import type { Resource, ResourceOptions } from '../runtime/resource.ts';
import { findLists, openAds } from './ads.ts';
import { BOUNDARIES, type Boundary, weaknessOf } from './boundary.ts';
import { type ChromiumOptions, startChromium } from './chromium.ts';
import { makeBrowserFolder } from './folder.ts';
import { type Browsers, createBrowsers } from './pool.ts';

/** Number of calls of each lane that a worker renders at a time, each in a browser of its own. */
export const BROWSERS = POOL_TABLE.browser.slots(availableParallelism());
const MEMORY_BYTES = 2_000_000_000;
const JOBS = [50, 100] as const;
/** Names of Chromium executables, preferred ones first: the headless shell takes less than half of the CPU time. */
export const PROGRAMS: readonly string[] = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
];
const FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin', '/snap/bin'];
/** Folder of Chromium in Debian's packages. The scripts in /usr/bin that start it contain this path. */
const DEBIAN_FOLDER = '/usr/lib/chromium';

/**
 * Finds a Chromium.
 *
 * @param given path that the operator has configured
 * @param names names of the executable otherwise, preferred ones first
 * @param programs folder of unpacked Debian packages, which are used if no Chromium is installed
 * @throws ServiceError tool_unavailable
 */
export async function findChromium(
  given: string | null,
  names: readonly string[] = PROGRAMS,
  programs: string | null = null,
): Promise<string> {
  const folders = programs === null ? FOLDERS : [...FOLDERS, join(programs, DEBIAN_FOLDER)];
  const paths =
    given === null ? names.flatMap((name) => folders.map((folder) => join(folder, name))) : [given];
  for (const path of paths) if (await isFile(path)) return path;
  throw new ServiceError('tool_unavailable', {
    detail: 'Chromium is not installed on this server.',
    cause: new Error(`no Chromium at ${given ?? folders.join(', ')}; install it or set CHROMIUM_PATH`),
  });
}

/**
 * Finds the strongest isolation (namespaces, sandbox) with which Chromium starts. @throws ServiceError tool_unavailable
 */
async function chooseBoundary(options: Omit<ChromiumOptions, 'boundary'>): Promise<Boundary> {
  let cause: unknown;
  for (const boundary of BOUNDARIES) {
    try {
      const probe = await startChromium({ ...options, boundary });
      await probe.kill();
      return boundary;
    } catch (error) {
      cause = error;
    }
  }
  throw new ServiceError('tool_unavailable', { detail: 'Chromium does not start on this server.', cause });
}

async function open({ env, log, observeBrowsers }: ResourceOptions): Promise<Browsers> {
  const programs = env.PROGRAMS_DIR;
  const program = await findChromium(env.CHROMIUM_PATH, PROGRAMS, programs);
  const folder = await makeBrowserFolder(log);
  try {
    const chromium = { program, programs, folder: folder.path, memoryBytes: MEMORY_BYTES, log };
    const boundary = await chooseBoundary(chromium);
    const weakness = weaknessOf(boundary);
    if (weakness !== null) {
      log(
        `!! Chromium runs without ${weakness}. Permit it as docs/operations.md says (Confining Chromium) !!`,
      );
      if (env.NODE_ENV === 'production' && !env.CHROMIUM_UNCONFINED)
        throw new ServiceError('tool_unavailable', {
          detail: 'Chromium cannot be confined on this server.',
          cause: new Error(`Chromium has to run without ${weakness}; CHROMIUM_UNCONFINED=true permits that`),
        });
    }
    const lists = env.FILTER_LISTS ?? (await findLists(programs));
    const ads = await openAds(lists, join(env.DATA_DIR, 'cache'));
    if (ads === null)
      log(
        '!! No filter lists found, so blockAds blocks nothing. Set FILTER_LISTS, or install webext-ublock-origin-chromium !!',
      );
    const browsers = await createBrowsers({
      ...chromium,
      boundary,
      ads,
      slots: Math.max(2, env.WORKER_SLOTS ?? BROWSERS) + (env.WORKER_SLOTS ?? BROWSERS),
      jobs: JOBS,
    });
    observeBrowsers?.(browsers.metrics);
    return {
      ...browsers,
      async [Symbol.asyncDispose]() {
        await browsers[Symbol.asyncDispose]();
        await folder[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
}

/** The browser pool of a worker, as a resource that tools can ask for. */
export const browsers: Resource<Browsers> = { name: 'Chromium', open };
