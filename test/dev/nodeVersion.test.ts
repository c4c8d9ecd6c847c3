import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { noticeOf } from '../../dev/node-version.mjs';

const exec = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

test('under a Node that is too old, npm start ends with one line', async (t) => {
  // The launcher runs on this Node, which reports another version.
  const pretend =
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.4' } })";
  const old = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`];
  const options = { cwd: root, env: machineEnv(), timeout: 60_000 };
  const failed = await t.throwsAsync<Error & { code: number; stdout: string; stderr: string }>(
    exec(process.execPath, [...old, 'dev/start.mjs'], options),
  );
  t.is(failed.code, 1);
  t.is(failed.stdout, '');
  t.is(
    failed.stderr,
    'Node 18.20.4 is too old to install this project. Install Node 22 or later, and run the command again.\n',
  );
});

test('the versions that package.json supports are used without a notice, and Node 20 with one', async (t) => {
  const { engines } = JSON.parse(await readFile(`${root}package.json`, 'utf8'));
  const [, oldest] = /^>=(\d+)$/.exec(engines.node) ?? [];
  t.is(noticeOf(`${oldest}.0.0`), null);
  t.is(noticeOf('24.21.0'), null);
  t.regex(
    noticeOf('20.20.2') ?? '',
    new RegExp(`^Node 20.20.2 is no longer maintained; install Node ${oldest} or later\\.`),
  );
});

test('npm prints no warning in this project', async (t) => {
  const { stderr } = await exec('npm', ['pkg', 'get', 'name'], {
    cwd: root,
    env: machineEnv(),
    timeout: 60_000,
  });
  t.is(stderr.match(/^npm warn.*/m), null, stderr);
});
