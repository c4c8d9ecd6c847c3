import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { generateSigningSecret, signatureHeaders } from '../../schemas/webhookSignature.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { findTestPython, installPythonClient, installTypescriptClient } from '../helpers/clientPackages.ts';
import { type Stack, startStack } from '../helpers/stack.ts';

const runFile = promisify(execFile);
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

let stack: Stack;
let folder: string;
let owner: TestAccount;
let poor: TestAccount;
let env: NodeJS.ProcessEnv;

test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'utility-tools-clients-'));
  stack = await startStack({ pools: ['orchestrator', 'cpu', 'network'] });
  owner = await makeAccount(stack, 1000);
  poor = await makeAccount(stack, 0);
  const secret = generateSigningSecret();
  const body = JSON.stringify({ id: 'evt_1', event: 'webhook.test', createdAt: 'now', data: {} });
  const message = { id: 'evt_1', event: 'webhook.test', body, timestamp: Math.floor(Date.now() / 1000) };
  env = {
    ...machineEnv(),
    UTILITY_TOOLS_API_KEY: owner.toolsKey,
    UTILITY_TOOLS_URL: stack.baseUrl,
    ACCOUNT_KEY: owner.accountKey,
    POOR_KEY: poor.toolsKey,
    DELIVERY: JSON.stringify({
      secret,
      body,
      headers: Object.fromEntries(signatureHeaders(message, { own: secret, all: [secret] })),
    }),
  };
});
test.after.always(async () => {
  await stack?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** What a program observes with either client. */
const EXPECTED = {
  hash: ABC,
  cost: 1,
  charged: 1,
  left: 999,
  file: '89504e47',
  invalid: ['invalid_input', '/text'],
  maximum: 'price_above_max',
  poor: ['insufficient_credits', 0, 1],
  unknownKey: 'invalid_api_key',
  wrongScope: 'insufficient_scope',
  refused: 'target_refused',
  repeated: [true, 0],
  keys: 2,
  calls: 3,
  statement: 'id,at,type,amount,balanceAfter,callId,tool,source,reference',
  event: 'webhook.test',
  forged: 'WebhookVerificationError',
};

test.serial(
  'the packed TypeScript client works in an empty folder, with its types and its command',
  async (t) => {
    t.timeout(300_000);
    const empty = await installTypescriptClient(folder);
    const files = JSON.parse(await readFile(join(empty, 'package-lock.json'), 'utf8'));
    t.deepEqual(Object.keys(files.packages), ['', 'node_modules/utility-tools-client'], 'no dependencies');
    await copyFile(here('newcomer.mts'), join(empty, 'newcomer.mts'));
    await writeFile(
      join(empty, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          module: 'NodeNext',
          target: 'ES2022',
          lib: ['ES2023', 'DOM', 'DOM.Iterable'],
          types: [],
          strict: true,
          exactOptionalPropertyTypes: true,
        },
        files: ['newcomer.mts'],
      }),
    );
    const tsc = fileURLToPath(import.meta.resolve('typescript/package.json')).replace(
      'package.json',
      'bin/tsc',
    );
    await runFile(process.execPath, [tsc], { cwd: empty });
    const { stdout } = await runFile(process.execPath, ['newcomer.mjs'], { cwd: empty, env });
    t.deepEqual(JSON.parse(stdout), EXPECTED);

    const program = join(empty, 'node_modules/.bin/utility-tools');
    const command = (args: string[], more: NodeJS.ProcessEnv = {}) =>
      runFile(program, args, { cwd: empty, env: { ...env, ...more } }).then(
        ({ stdout: out, stderr }) => ({ code: 0, out, stderr }),
        ({ code, stdout: out, stderr }) => ({ code, out, stderr }),
      );
    const hashed = await command(['hash-text', '--text', 'abc', '--json']);
    t.deepEqual(JSON.parse(hashed.out), { algorithm: 'sha256', hash: ABC });
    t.regex(hashed.stderr, /Credits charged: 1/);
    t.is((await command(['qr-generate', '--text', 'abc', '-o', 'code.png', '-q'])).out, 'code.png\n');
    t.is((await readFile(join(empty, 'code.png'))).subarray(1, 4).toString(), 'PNG');
    const code = async (args: string[], more?: NodeJS.ProcessEnv) => (await command(args, more)).code;
    t.is(await code(['hash-text', '--text', 'a', '--algorithm', 'sha3']), 3);
    t.is(await code(['hash-text', '--text', 'a'], { UTILITY_TOOLS_API_KEY: 'ut_wrong' }), 4);
    t.is(await code(['hash-text', '--text', 'a'], { UTILITY_TOOLS_API_KEY: poor.toolsKey }), 5);
    t.is(await code(['hash-text', '--text', 'a', '--max-credits', '0']), 5);
    t.is(await code(['ping', '--host', '10.0.0.1']), 6);
    const slow = await command(['hash-text', '--text', 'a', '--timeout', '0.001']);
    t.is(slow.code, 8);
    const [, key = ''] = /--idempotency-key (\S+)/.exec(slow.stderr) ?? [];
    t.is(await code(['hash-text', '--text', 'a', '--idempotency-key', key]), 0);
    const unsaved = await command(['qr-generate', '--text', 'a', '-o', 'missing/code.png']);
    t.is(unsaved.code, 1);
    t.regex(unsaved.stderr, /--idempotency-key \S+ within 24 hours/);
  },
);

test.serial('the wheel of the Python client works in an empty environment, with its types', async (t) => {
  t.timeout(900_000);
  const testPython = await findTestPython((line) => t.log(line));
  const python = await installPythonClient(folder, testPython);
  const other = await makeAccount(stack, 1000);
  const own = { ...env, UTILITY_TOOLS_API_KEY: other.toolsKey, ACCOUNT_KEY: other.accountKey };
  for (const how of ['sync', 'async']) {
    const { stdout } = await runFile(python, [here('newcomer.py'), how], { env: own });
    const first = how === 'sync';
    t.deepEqual(JSON.parse(stdout), { ...EXPECTED, left: first ? 999 : 997, calls: first ? 3 : 6 }, how);
  }
  const check = ['-m', 'mypy', '--strict', '--python-executable', python];
  await runFile(testPython, [...check, '-p', 'utility_tools'], { cwd: folder });
  await runFile(testPython, [...check, '--cache-dir', join(folder, 'mypy'), here('newcomer.py')]);
  // The sources must parse with the grammar of the oldest supported Python version.
  const parse =
    'import ast, sys; [ast.parse(open(name).read(), feature_version=(3, 9)) for name in sys.argv[1:]]';
  await runFile(python, ['-c', parse, ...globSync(here('../../clients/python/src/utility_tools/*.py'))]);
});
