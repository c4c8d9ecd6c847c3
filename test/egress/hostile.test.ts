import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { HOSTILE_PATHS, startHostile } from '../helpers/http.ts';

/** Error codes by the path of the hostile response; all other paths lead to target_failed. */
const OUTCOMES: Readonly<Record<string, string>> = {
  '/dense-gzip': 'source_too_large',
  '/dense-br': 'source_too_large',
  '/dense-zstd': 'source_too_large',
  '/dense-thrice': 'source_too_large',
  '/empty-members': 'source_too_large',
  '/60-mb': 'source_too_large',
  '/announced-60-mb': 'source_too_large',
  '/drip': 'target_timeout',
  '/drip-headers': 'target_timeout',
  '/silent': 'target_timeout',
};
const MEMORY = 64 * 1024 * 1024;

interface Download {
  path: string;
  outcome: string;
  growth: number;
}

/** Downloads these paths in sequence in a separate process. */
async function downloads(
  port: number,
  limits: { milliseconds: number; maxBytes: number; place: 'memory' | 'file' },
  paths: readonly string[],
): Promise<Download[]> {
  const script = fileURLToPath(new URL('../helpers/fetch-child.ts', import.meta.url));
  const words = [port, limits.milliseconds, limits.maxBytes, limits.place].map(String);
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script, ...words, ...paths]);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The largest downloads take seconds, and minutes on a loaded machine. */
const AMPLE_MS = 150_000;

test('downloads from hostile servers end before their deadline with the expected code', async (t) => {
  const server = await startHostile();
  t.teardown(server.close);
  const limits = { maxBytes: 2_000_000, place: 'memory' } as const;
  const isSlow = (path: string) => OUTCOMES[path] === 'target_timeout';
  const results = [
    ...(await downloads(server.port, { ...limits, milliseconds: 5_000 }, HOSTILE_PATHS.filter(isSlow))),
    ...(await downloads(
      server.port,
      { ...limits, milliseconds: AMPLE_MS },
      HOSTILE_PATHS.filter((path) => !isSlow(path)),
    )),
  ];
  t.is(results.length, HOSTILE_PATHS.length);
  for (const { path, outcome } of results) t.is(outcome, OUTCOMES[path] ?? 'target_failed', path);
});

/** The download limits of two tools: a document to convert, in memory, and a PDF, in a file. */
const LARGEST = [
  { place: 'memory', maxBytes: 25_000_000, fits: '/25-mb' },
  { place: 'file', maxBytes: 50 * 1024 * 1024, fits: '/50-mb' },
] as const;
for (const { place, maxBytes, fits } of LARGEST)
  test(`the largest downloads into ${place === 'file' ? 'a file' : 'memory'} stay within the memory limit`, async (t) => {
    const server = await startHostile();
    t.teardown(server.close);
    for (const path of [fits, '/60-mb', '/dense-gzip']) {
      const limits = { milliseconds: AMPLE_MS, maxBytes, place };
      const wanted = path === fits ? `ok ${Number.parseInt(path.slice(1), 10)}000000` : 'source_too_large';
      const [{ outcome = '', growth = Infinity } = {}] = await downloads(server.port, limits, [path]);
      t.is(outcome, wanted, path);
      t.log(path, wanted, `${Math.round(growth / 1e6)} MB`);
      t.true(growth < MEMORY, `${path}: ${growth} bytes`);
    }
  });
