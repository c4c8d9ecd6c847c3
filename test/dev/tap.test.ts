import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { suites } from '../../dev/suites.ts';
import { createTapCounter } from '../../dev/tap.ts';

test('results are counted without skipped tests, each new file is reported once, and failures keep their diagnostics', (t) => {
  const counter = createTapCounter(['test/api/errors.test.ts', 'test/contract.test.ts']);
  const printed = [
    'TAP version 13',
    'ok 1 - api › errors › a title',
    'not ok 2 - contract › another › with an arrow',
    '  ---',
    '  message: a reason',
    '  ...',
    '#   a log line',
    '    ok 1 - nested',
    'ok 3 - api › errors › later # SKIP',
    '1..3',
  ].map((line) => counter.readLine(line)?.replace(/\d+ s: /, ''));
  t.deepEqual(printed, [
    undefined,
    '# test/api/errors.test.ts, 1 of 2 files left',
    '# test/contract.test.ts, 0 of 2 files left',
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  t.is(counter.passed, 1);
  t.is(counter.failed, 1);
  t.deepEqual(counter.failures, [
    'not ok 2 - contract › another › with an arrow\n  ---\n  message: a reason\n  ...',
  ]);
});

test('each test file runs once; the slow suites repeat only those files that run more cases there', (t) => {
  const all = [...suites(false), ...suites(true)];
  const filesOf = (repeated: boolean) =>
    all.filter(({ env }) => Object.keys(env).length > 0 === repeated).flatMap(({ files }) => files);
  t.deepEqual(filesOf(false).sort(), globSync('test/**/*.test.ts').sort());
  t.true(filesOf(true).length > 0);
  for (const file of filesOf(true)) t.true(filesOf(false).includes(file), file);
});

test('after a failure without a stack frame, the other tests run and the failed one is named', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tap-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
  await symlink(modules, join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const fail = "throw Object.assign(new Error('late'), { stack: 'Error: late' })";
  await writeFile(
    join(folder, 'test.js'),
    `import test from 'ava';\ntest.serial('first', () => { ${fail}; });\ntest.serial('next', (t) => t.pass());\n`,
  );
  const guard = fileURLToPath(new URL('../../dev/tapErrors.mjs', import.meta.url));
  const args = ['--import', guard, join(modules, '.bin/ava'), '--tap', 'test.js'];
  const output = await new Promise<string>((resolve) => {
    const options = { cwd: folder, env: machineEnv(), timeout: 60_000 };
    execFile(process.execPath, args, options, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
  t.regex(output, /^not ok 1 - first$/m);
  t.regex(output, /message: 'late'/);
  t.regex(output, /^ok 2 - next$/m);
});
