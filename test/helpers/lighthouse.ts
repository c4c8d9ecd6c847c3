import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineEnv } from '../../dev/host.mjs';
import { run } from '../../dev/programs/run.ts';
import { lighthouse as packages } from '../provision/items/lighthouse.ts';
import { launchChromium } from './browser.ts';
import { type Json, recordAt } from './json.ts';

const LIMIT_MS = 120_000;

/** The pages of the site that are measured: landing page, documentation, page of a tool, reference. */
export const MEASURED_PAGES = [
  '/',
  '/docs',
  '/docs/tools/website-screenshot',
  '/docs/reference',
  '/docs/reference/create-key',
] as const;

export interface Lighthouse extends AsyncDisposable {
  /** Returns Lighthouse's report on a page as the telephone loads it that Lighthouse simulates. */
  report(url: string): Promise<Json>;
}

/** Starts Chromium for Lighthouse. */
export async function startLighthouse(log: (line: string) => void): Promise<Lighthouse> {
  await using owned = new AsyncDisposableStack();
  const program = join(await packages.get(log), 'node_modules/.bin/lighthouse');
  const folder = owned.adopt(await mkdtemp(join(tmpdir(), 'utility-tools-lighthouse-')), (it) =>
    rm(it, { recursive: true, force: true }),
  );
  const browser = owned.adopt(await launchChromium(), (it) => it.close());
  const output = join(folder, 'report.json');
  const flags = ['--quiet', '--output=json', `--output-path=${output}`];
  const port = `--port=${new URL(browser.wsEndpoint()).port}`;
  const running = owned.move();
  return {
    async report(url) {
      // The first request renders the page on the server.
      await fetch(url);
      await run(program, [url, ...flags, port], {
        env: machineEnv(),
        idleMs: LIMIT_MS,
        totalMs: LIMIT_MS,
      });
      return JSON.parse(await readFile(output, 'utf8'));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The score of a category, from 0 to 1. */
export const scoreOf = (report: Json, category: string): number =>
  Number(recordAt(report, 'categories', category).score);

/** The numeric value of an audit. */
export const numericValueOf = (report: Json, audit: string): number =>
  Number(recordAt(report, 'audits', audit).numericValue);
