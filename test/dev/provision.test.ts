import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { pathWithGo } from '../provision/goProgram.ts';
import type { Item } from '../provision/item.ts';
import { OFFLINE_ENV } from '../provision/offline.ts';
import { packageFolder } from '../provision/packages.ts';
import { fetchAll, itemsOf } from '../provision/provision.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;
test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provision-test-'));
  process.env.XDG_CACHE_HOME = folder;
});
test.after.always(() => rm(folder, { recursive: true, force: true }));

const namesOf = async (file: string): Promise<string[]> =>
  (await itemsOf([file])).map(({ name }) => name.replace(/ .*/, '')).sort();

test('the items of a test file are those that it and its helpers import, and those that these need', async (t) => {
  t.deepEqual(await namesOf('test/dashboard/purchases.test.ts'), ['go', 'stripe-mock']);
  t.deepEqual(await namesOf('test/clients/linters.test.ts'), ['openapi-linters']);
  t.deepEqual(await namesOf('test/chaos/temporalFailover.test.ts'), [
    'go',
    'temporal-server',
    'temporal-sql-tool',
  ]);
  t.deepEqual(await namesOf('test/tools/hash-text.test.ts'), []);
});

/** An item that an sh script makes, without the network. */
const scripted = (name: string, script: string, needs: readonly Item[] = []): Item =>
  packageFolder({ name, packages: ['1.0'], client: 'sh', usually: 1, needs, help: 'it.', script });

test('missing items are fetched once, those first that others need, and the log names each of them', async (t) => {
  const order = join(folder, 'order');
  const tool = scripted('tool', `echo tool >> ${order}`);
  const items = [scripted('user', `echo user >> ${order}`, [tool]), tool];
  const lines: string[] = [];
  const { signal } = new AbortController();
  await fetchAll(items, (line) => lines.push(line), signal);
  t.is(readFileSync(order, 'utf8'), 'tool\nuser\n');
  t.regex(lines.join('\n'), /2 programs and packages[\s\S]*usually takes 1 s[\s\S]*\[2\/2\] user.*fetched/);
  await fetchAll(items, (line) => t.fail(line), signal);
  t.is(readFileSync(order, 'utf8'), 'tool\nuser\n');
});

test('an item that cannot be fetched ends the run before the first test, and ends the other fetches', async (t) => {
  const items = [
    scripted('endless', 'while :; do sleep 1; done'),
    scripted('broken', 'echo the reason >&2; exit 3'),
  ];
  const lines: string[] = [];
  const error = await t.throwsAsync(
    fetchAll(items, (line) => lines.push(line), new AbortController().signal),
  );
  t.regex(error.message, /^broken.* could not be fetched\. Install it\.$/);
  t.true(lines.some((line) => line.includes('the reason')));
});

/** Runs a program with the environment of the tests in an empty folder. @returns its exit code and output */
async function offline(file: string, args: string[]): Promise<{ code: number; output: string }> {
  const cwd = await mkdtemp(join(folder, 'offline-'));
  await mkdir(join(cwd, 'home'));
  await writeFile(join(cwd, 'package.json'), '{}');
  const PATH = await pathWithGo(process.env.PATH, () => undefined);
  const own = { PATH, HOME: join(cwd, 'home'), GOPATH: join(cwd, 'go'), npm_config_cache: join(cwd, 'npm') };
  return new Promise((resolve) =>
    execFile(
      file,
      args,
      { cwd, env: { ...machineEnv(), ...OFFLINE_ENV, ...own }, timeout: 120_000 },
      (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    ),
  );
}

for (const [file, args, reason] of [
  ['npm', ['install', 'is-number@7.0.0'], /ECONNREFUSED 127\.0\.0\.1:9/],
  ['python3', ['-m', 'pip', 'download', '--no-cache-dir', 'six==1.17.0'], /No matching distribution/],
  ['go', ['install', 'rsc.io/quote@v1.5.2'], /module lookup disabled by GOPROXY=off/],
] as const)
  test(`with the environment of the tests, a download with ${file} fails`, async (t) => {
    t.timeout(180_000);
    const { code, output } = await offline(file, [...args]);
    t.not(code, 0);
    t.regex(output, reason);
  });

/** Commands with which package managers download, as tests and helpers would write them. */
const DOWNLOAD =
  /'pip3?'(?:,|\s)+'(?:install|download)'|'npm'(?:,|\s)+\[?'(?:install|ci|exec|pack)'|'npx'|'mvn'|'go'(?:,|\s)+\[?'(?:get|install|mod)'|unpackWheel/;
const ALLOWED = [
  // Installs packed files that the test has built, without the network.
  'test/helpers/clientPackages.ts',
  // Check that a download fails, and which command the installation runs.
  'test/dev/provision.test.ts',
  'test/dev/install.test.ts',
];

test('no test or helper downloads on its own', (t) => {
  const files = globSync('test/**/*.ts', {
    cwd: root,
    exclude: ['test/{provision,containers}/**'],
  });
  t.true(files.length > 250);
  const found = files.filter((file) => DOWNLOAD.test(readFileSync(join(root, file), 'utf8')));
  t.deepEqual(
    found.filter((file) => !ALLOWED.includes(file)),
    [],
  );
});
