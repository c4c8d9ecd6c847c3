import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { makeBrowserFolder } from '../../activities/browser/folder.ts';
import { openBrowsers, startSite } from '../helpers/browser.ts';
import { loadTool } from '../helpers/tool.ts';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const module = (path: string) => new URL(`../../${path}`, import.meta.url).href;

/** Creates a temporary folder whose path has a given length. */
async function makeTmpdir(mode: number, length: number): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(`/tmp/${'t'.repeat(length - '/tmp/XXXXXX'.length)}`);
  await chmod(path, mode);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

async function withTmpdir<T>(path: string, work: () => Promise<T>): Promise<T> {
  const before = process.env.TMPDIR;
  process.env.TMPDIR = path;
  try {
    return await work();
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}

test.serial('browsers start in TMPDIR if it is usable, else in another folder', async (t) => {
  const tool = await loadTool('website-screenshot');
  const site = await startSite({ '/': '<title>T</title>' });
  t.teardown(() => site.close());
  for (const [mode, length, usable, start] of [
    // The length of TMPDIR matters because Chromium creates a socket in it, whose path is limited to 107 bytes.
    [0o711, 19, true, true],
    [0o755, 60, false, true],
    // Access for other users matters because a worker that runs as root runs its browser as another user.
    [0o700, 19, !isRoot, false],
    [0o755, 19, true, false],
  ] as const) {
    await using folder = await makeTmpdir(mode, length);
    const log = (line: string) => t.fail(line);
    await using made = await withTmpdir(folder.path, () => makeBrowserFolder(log));
    t.is(dirname(made.path) === folder.path, usable, `${mode.toString(8)} ${length}`);
    if (!start) continue;
    await using resource = await withTmpdir(folder.path, () => openBrowsers());
    const { pageTitle } = await tool.call(
      { url: `${site.origin}/`, width: 100, height: 100 },
      { egress: site.guard(), resource },
    );
    t.is(pageTitle, 'T');
  }
});

test.serial('the folder of a killed worker is removed, or a failure to remove it is logged', async (t) => {
  await using folder = await makeTmpdir(0o711, 19);
  const dead = spawnSync('true').pid;
  const empty = join(folder.path, `ut-browsers-${dead}-empty`);
  const busy = join(folder.path, `ut-browsers-${dead}-busy`);
  const living = join(folder.path, 'ut-browsers-1-living');
  for (const path of [empty, join(busy, 'mounted'), living]) await mkdir(path, { recursive: true });
  const script = `
    import { makeBrowserFolder } from '${module('activities/browser/folder.ts')}';
    const lines = [];
    await using made = await makeBrowserFolder((line) => lines.push(line));
    console.log(JSON.stringify(lines));`;
  // A mount point cannot be removed.
  const mount = `mount -t tmpfs tmpfs '${busy}/mounted' && exec "$0" --input-type=module --eval "$1"`;
  const namespace = isRoot ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
  const { stdout } = await run('unshare', [...namespace, 'sh', '-c', mount, process.execPath, script], {
    env: { ...process.env, TMPDIR: folder.path },
  });
  const lines: unknown = JSON.parse(stdout);
  if (!Array.isArray(lines)) throw new Error(stdout);
  t.is(lines.length, 1, stdout);
  t.regex(String(lines[0]), new RegExp(`the folder ${busy} of a killed worker could not be removed: EBUSY`));
  t.deepEqual(
    [empty, busy, living].map((path) => existsSync(path)),
    [false, true, true],
  );
  // The mount ended with the worker's namespace, so the folder can be removed.
  await withTmpdir(folder.path, async () => {
    await using _made = await makeBrowserFolder((line) => t.fail(line));
  });
  t.false(existsSync(busy));
});

test.serial('in production, an unconfined Chromium starts only with CHROMIUM_UNCONFINED', async (t) => {
  await using folder = await makeTmpdir(0o711, 19);
  const script = `
    import { browsers } from '${module('activities/browser/resource.ts')}';
    import { readEnv } from '${module('schemas/env.ts')}';
    const lines = [];
    const open = async (env) => {
      try {
        await using resource = await browsers.open({
          env: readEnv({ DATA_DIR: '${folder.path}', ...env }),
          log: (line) => lines.push(line),
        });
        return resource.boundary.namespace;
      } catch ({ code, detail, cause }) {
        return [code, detail, cause?.message];
      }
    };
    const production = { NODE_ENV: 'production' };
    const results = [await open(production), await open({ ...production, CHROMIUM_UNCONFINED: 'true' })];
    console.log(JSON.stringify({ results, lines }));`;
  // Without CAP_SYS_ADMIN, root cannot create a network namespace. Other users become root of a new user namespace
  // first and drop the capability in it.
  const without = isRoot
    ? ['setpriv', '--bounding-set=-sys_admin', '--inh-caps=-sys_admin']
    : ['unshare', '--user', '--map-root-user', 'setpriv', '--bounding-set=-sys_admin'];
  const [file = '', ...args] = [...without, process.execPath, '--input-type=module', '--eval', script];
  const { stdout } = await run(file, args, { timeout: 120_000 });
  const { results, lines }: { results: unknown[]; lines: string[] } = JSON.parse(stdout);
  t.deepEqual(results, [
    [
      'tool_unavailable',
      'Chromium cannot be confined on this server.',
      'Chromium has to run without a network namespace; CHROMIUM_UNCONFINED=true permits that',
    ],
    'none',
  ]);
  t.regex(lines[0] ?? '', /^!! Chromium runs without a network namespace\. Permit it/);
});
