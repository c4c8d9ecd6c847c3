import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { failureLines, flakyLines, slowestLines } from '../../dev/testing/report.ts';
import { select, touchedBy } from '../../dev/testing/selection.ts';
import { createTapReader } from '../../dev/testing/tap.ts';
import { filesOf, sampledFiles, suitesOf } from '../../dev/testing/tiers.ts';
import { addRun } from '../../dev/testing/wholeRun.ts';

const SLOW = filesOf(true);
/** The files that a change selects when all are short, so that none is left out, and the hash chooses the first. */
const selected = (...changed: string[]) =>
  select(SLOW, changed, '00000000', Object.fromEntries(SLOW.map((file) => [file, 1])));

test('results are counted by file without skipped tests, and failures keep their diagnostics', (t) => {
  const reader = createTapReader();
  const ended = [
    'TAP version 13',
    'ok 1 - test/api/errors.test.ts › a title',
    'not ok 2 - test/contract.test.ts › another › with an arrow',
    '  ---',
    '  message: a reason',
    '  ...',
    '#   a log line',
    '    ok 1 - nested',
    'ok 3 - test/api/errors.test.ts › later # SKIP',
    '# file test/api/errors.test.ts ended after 1200 ms',
    'not ok 4 - SyntaxError: of AVA itself',
    '1..4',
  ].map((line) => reader.readLine(line));
  t.deepEqual(
    ended.filter((file) => file !== null),
    ['test/api/errors.test.ts'],
  );
  const failure = [
    'not ok - test/contract.test.ts › another › with an arrow',
    '  ---',
    '  message: a reason',
    '  ...',
  ];
  t.deepEqual(Object.fromEntries(reader.files), {
    'test/api/errors.test.ts': { passed: 1, failed: 0, failures: [], ms: 1200 },
    'test/contract.test.ts': { passed: 0, failed: 1, failures: [failure], ms: null },
  });
  t.deepEqual(reader.otherFailures, [['not ok - SyntaxError: of AVA itself', '1..4']]);
});

test('every test file belongs to one tier; the slow tier repeats files of the quick one with more cases', (t) => {
  const quick = filesOf(false);
  t.deepEqual([...quick, ...SLOW].sort(), globSync('test/**/*.test.ts').sort());
  t.deepEqual(
    suitesOf(SLOW)
      .flatMap(({ files }) => files)
      .sort(),
    SLOW,
  );
  t.true(sampledFiles().length > 0);
  for (const file of sampledFiles()) t.true(quick.includes(file), file);
});

test('a change selects the slow files about its subject, and one more by the hash of the commit', (t) => {
  const { files, byHash, hasSharedGround, needsContainers } = selected('api/dashboard/pages/credits/view.ts');
  t.is(byHash, SLOW[0] ?? '');
  t.true(files.includes(byHash ?? ''));
  t.true(files.some((file) => file.startsWith('test/dashboard/')));
  t.false(files.some((file) => file.startsWith('test/fuzz/')));
  t.false(hasSharedGround || needsContainers);
  t.deepEqual(selected('README.md').files, [byHash]);
});

test('a change in a module of a tool selects the slow files about that tool', (t) => {
  for (const path of ['activities/tools/ssl-check.ts', 'activities/tls/grade.ts']) {
    const { files } = selected(path);
    const tools = files.filter((file) => file.startsWith('test/tools/') && file !== SLOW[0]);
    t.true(tools.includes('test/tools/ssl-check.scan.hostile.test.ts'), path);
    t.deepEqual(
      tools.filter((file) => !file.includes('ssl-check')),
      [],
      path,
    );
  }
});

test('a change in a helper selects the slow files that use it', (t) => {
  t.true(selected('test/helpers/toxiproxy.ts').files.includes('test/chaos/faults.test.ts'));
});

for (const path of [
  'store/ledger/ledger.ts',
  'workflows/callTool.ts',
  'egress/guard.ts',
  'schemas/errors.ts',
  'package-lock.json',
])
  test(`${path} is shared ground: calls are killed and attributed`, (t) => {
    const { files, hasSharedGround } = selected(path);
    t.true(hasSharedGround);
    for (const name of ['kill', 'attribution']) t.true(files.includes(`test/chaos/${name}.test.ts`), name);
  });

for (const path of [
  'Dockerfile',
  'docker-compose.yml',
  'deploy/helm/values.yaml',
  'workers/main.ts',
  'platform/core.ts',
])
  test(`${path} needs the container tests`, (t) => {
    t.true(selected(path).needsContainers);
  });

test('without a known commit everything is touched; files that take too long are left out and named', (t) => {
  const timings = Object.fromEntries(SLOW.map((file) => [file, 300]));
  const { files, leftOut } = select(SLOW, null, null, timings);
  t.deepEqual([...files, ...leftOut].sort(), SLOW);
  t.true(files.length > 1 && files.length < 10, `${files.length}`);
  t.deepEqual(select(SLOW, null, null, {}).leftOut.length > 0, true);
});

test('a run that completes another one replaces what it ran, and leaves the rest', (t) => {
  const before = { commit: 'a', minutes: 40, passed: { kept: 3, touched: 2 }, flaky: ['kept', 'touched'] };
  const later = { commit: 'b', minutes: 2, passed: { failedBefore: 5 }, flaky: [] };
  t.deepEqual(addRun(before, later, ['failedBefore', 'touched']), {
    ...{ commit: 'b', minutes: 42 },
    ...{ passed: { kept: 3, failedBefore: 5 }, flaky: ['kept'] },
  });
});

test('a changed test touches itself; a change of the ledger needs the suites of money as well', (t) => {
  const file = 'test/chaos/versioning.test.ts';
  t.deepEqual(touchedBy(SLOW, [file]), { touched: [file], mandatory: [], hasSharedGround: false });
  const { mandatory } = touchedBy(SLOW, ['store/ledger/ledger.ts']);
  t.true(
    mandatory.includes('test/chaos/kill.test.ts') && mandatory.includes('test/chaos/attribution.test.ts'),
  );
});

test('the report names the slowest files, both runs of flaky ones, and all failures', (t) => {
  const failures = [['not ok - a', '  reason']];
  const results = new Map([
    ['test/a.test.ts', { passed: 1, failed: 1, failures, ms: 1500 }],
    ['test/b.test.ts', { passed: 1, failed: 0, failures: [], ms: 20_000 }],
  ]);
  t.deepEqual(slowestLines(results).slice(1), ['#     20.0  test/b.test.ts', '#      1.5  test/a.test.ts']);
  t.deepEqual(failureLines(results), ['# The failed tests again:', 'not ok - a', '  reason']);
  const flaky = flakyLines([{ file: 'test/a.test.ts', first: ['not ok - a'], second: ['ok 1 - a'] }]).join(
    '\n',
  );
  t.regex(flaky, /^ {4}not ok - a$/m);
  t.regex(flaky, /^ {4}ok 1 - a$/m);
  t.regex(flaky, /^# Flaky files: 1$/m);
});

test('results name their file, also of a crash and of a failure without a stack frame, and the other tests run', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'ava-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
  await symlink(modules, join(folder, 'node_modules'));
  await mkdir(join(folder, 'test'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(
    join(folder, 'ava.config.js'),
    "export default { extensions: ['ts'], files: ['test/*.test.ts'] };",
  );
  const fail = "throw Object.assign(new Error('late'), { stack: 'Error: late' })";
  const save = (name: string, code: string) =>
    writeFile(join(folder, 'test', `${name}.test.ts`), `import test from 'ava';\n${code}\n`);
  await save('late', `test.serial('first', () => { ${fail}; });\ntest.serial('next', (t) => t.pass());`);
  await save(
    'crash',
    "test('begins', () => { setTimeout(() => { throw new Error('thrown'); }, 1); return new Promise(() => {}); });",
  );
  const patches = fileURLToPath(new URL('../../dev/testing/avaPatches.mjs', import.meta.url));
  const args = ['--import', patches, join(modules, '.bin/ava'), '--tap'];
  const output = await new Promise<string>((resolve) => {
    const options = { cwd: folder, env: machineEnv(), timeout: 60_000 };
    execFile(process.execPath, args, options, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
  t.regex(output, /^not ok \d - test\/late\.test\.ts › first$/m);
  t.regex(output, /message: 'late'/);
  t.regex(output, /^ok \d - test\/late\.test\.ts › next$/m);
  const reader = createTapReader();
  for (const line of output.split('\n')) reader.readLine(line);
  t.like(reader.files.get('test/late.test.ts'), { passed: 1, failed: 1 });
  t.true((reader.files.get('test/crash.test.ts')?.failed ?? 0) > 0);
  t.true((reader.files.get('test/crash.test.ts')?.ms ?? 0) > 0);
  t.deepEqual(reader.otherFailures, []);
});
