import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { install, isInstalled } from '../../dev/install.mjs';

const a = { version: '1.0.0' };
const other = { version: '3.0.0', optional: true };
const wanted = { '': { name: 'x' }, 'node_modules/a': a, 'node_modules/other-system': other };

const cases: [string, Record<string, unknown> | null, boolean][] = [
  ['no node_modules', null, false],
  ['everything', { 'node_modules/a': a, 'node_modules/other-system': other }, true],
  ['all but the optional package of another system', { 'node_modules/a': a }, true],
  ['an older version', { 'node_modules/a': { version: '0.9.0' } }, false],
  [
    'an older version of an optional one',
    { 'node_modules/a': a, 'node_modules/other-system': { version: '2.0.0' } },
    false,
  ],
  ['a package is missing', {}, false],
];

for (const [title, packages, expected] of cases)
  test(`${title}: ${expected ? 'installed' : 'not installed'}`, async (t) => {
    const root = await mkdtemp(join(tmpdir(), 'install-test-'));
    t.teardown(() => rm(root, { recursive: true }));
    await writeFile(join(root, 'package-lock.json'), JSON.stringify({ packages: wanted }));
    if (packages !== null) {
      await mkdir(join(root, 'node_modules/.bin'), { recursive: true });
      await writeFile(join(root, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));
    }
    t.is(isInstalled(root), expected);
  });

test('no GPU libraries are downloaded', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'install-test-'));
  t.teardown(() => rm(root, { recursive: true }));
  await writeFile(join(root, 'package-lock.json'), JSON.stringify({ packages: wanted }));
  let given: NodeJS.ProcessEnv = {};
  await install(root, async (file, [command], env) => {
    t.deepEqual([file, command], ['npm', 'install']);
    given = env;
    return 0;
  });
  const flag = 'ONNXRUNTIME_NODE_INSTALL';
  t.is(given[flag], 'skip');
  // Checks that the package still supports the setting: with it the install script exits immediately, while without it
  // the script fails or downloads.
  const script = 'node_modules/onnxruntime-node/script/install.js';
  const run = (value: string) => spawnSync(process.execPath, [script], { env: { [flag]: value } });
  t.is(run('skip').status, 0);
  t.not(run('skip-it').status, 0);
});
