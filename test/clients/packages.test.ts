import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { AbortedError, UtilityTools } from '../../clients/typescript/src/index.ts';
import { arePacked } from '../../dev/clients/pack.ts';
import { machineEnv } from '../../dev/host.mjs';
import { generateSigningSecret, signatureHeaders } from '../../schemas/webhookSignature.ts';
import { makeAccount, type TestAccount, withStore } from '../helpers/account.ts';
import { runJavaScriptOf, runPythonOf } from '../helpers/clientDocuments.ts';
import {
  findTestPython,
  installPythonClient,
  installTypescriptClient,
  type PackedClients,
  servePackedClients,
} from '../helpers/clientPackages.ts';
import { snippetsOf } from '../helpers/guideSnippets.ts';
import { callsOf } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget, type SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { go } from '../provision/items/go.ts';

const runFile = promisify(execFile);
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

let stack: SharedStack;
let folder: string;
let owner: TestAccount;
let poor: TestAccount;
/** Requests that reached the target, which never responds, and how many of their connections were closed. */
const requests = { begun: 0, closed: 0 };
const target = createServer(({ socket }) => {
  requests.begun += 1;
  socket.once('close', () => {
    requests.closed += 1;
  });
});
let targetUrl: string;

test.before(async () => {
  const origin = await listenAsTarget(target);
  targetUrl = `http://${origin}/`;
  folder = await mkdtemp(join(tmpdir(), 'utility-tools-clients-'));
  stack = await useStack();
  owner = await makeAccount(stack, 1000);
  poor = await makeAccount(stack, 0);
});
test.after.always(async () => {
  target.close();
  target.closeAllConnections();
  await stack?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Returns the environment of a program that starts now: the delivery in it is signed with the current time. */
function makeEnv(account = owner): NodeJS.ProcessEnv {
  const secret = generateSigningSecret();
  const body = JSON.stringify({ id: 'evt_1', event: 'webhook.test', createdAt: 'now', data: {} });
  const message = { id: 'evt_1', event: 'webhook.test', body, timestamp: Math.floor(Date.now() / 1000) };
  return {
    ...machineEnv(),
    UTILITY_TOOLS_API_KEY: account.toolsKey,
    UTILITY_TOOLS_URL: stack.baseUrl,
    UTILITY_TOOLS_ACCOUNT_KEY: account.accountKey,
    POOR_KEY: poor.toolsKey,
    DELIVERY: JSON.stringify({
      secret,
      body,
      headers: Object.fromEntries(signatureHeaders(message, { own: secret, all: [secret] })),
    }),
  };
}

let packing: Promise<PackedClients> | null = null;
/** Packs the clients once. */
function packed(t: ExecutionContext): Promise<PackedClients> {
  packing ??= servePackedClients(stack, (line) => t.log(line));
  return packing;
}

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
  job: '89504e47',
  batch: ['max_credits', 'completed', [0, 1, 2], [2], 'a', 1],
  event: 'webhook.test',
  forged: 'WebhookVerificationError',
};

/** Output of the snippets of each document: a hash and credits; those of a README also print an error and a charged call. */
const SHOWN: Readonly<Record<string, RegExp>> = {
  'docs/clients.md': new RegExp(`^${ABC}.*charged.*1[^]*^${ABC}$`, 'm'),
  'clients/typescript/README.md': new RegExp(`^${ABC} .*charged: 1.*pointer: '/url'.*^hash-text 1$`, 'ms'),
  'clients/python/README.md': new RegExp(
    `^${ABC} .*charged=1.*^${ABC}$.*'pointer': '/url'.*^hash-text 1$`,
    'ms',
  ),
};

test.serial(
  'the packed TypeScript client works in an empty folder, with its types and its command',
  async (t) => {
    t.timeout(900_000);
    const empty = await installTypescriptClient(folder, await packed(t));
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
    const { stdout } = await runFile(process.execPath, ['newcomer.mjs'], { cwd: empty, env: makeEnv() });
    t.deepEqual(JSON.parse(stdout), { ...EXPECTED, noTool: 'unknown_tool', wrongRow: 'invalid_input' });
    for (const document of ['clients/typescript/README.md', 'docs/clients.md'])
      t.regex(
        await runJavaScriptOf(document, { cwd: empty, env: makeEnv() }),
        SHOWN[document] ?? /^$/,
        document,
      );
    t.is((await readFile(join(empty, 'code.png'))).subarray(1, 4).toString(), 'PNG');

    const program = join(empty, 'node_modules/.bin/utility-tools');
    const command = (args: string[], more: NodeJS.ProcessEnv = {}) =>
      runFile(program, args, { cwd: empty, env: { ...makeEnv(), ...more } }).then(
        ({ stdout: out, stderr }) => ({ code: 0, out, stderr }),
        ({ code, stdout: out, stderr }) => ({ code, out, stderr }),
      );
    const hashed = await command(['hash-text', '--text', 'abc', '--json']);
    t.deepEqual(JSON.parse(hashed.out), { algorithm: 'sha256', hash: ABC });
    t.regex(
      hashed.stderr,
      /^Running hash-text …\nDone\. Credits charged: 1, left: \d+\. Request: req_\S+\n$/,
    );
    const quiet = await command(['qr-generate', '--text', 'abc', '-o', 'code.png', '-q']);
    t.deepEqual(quiet, { code: 0, out: 'code.png\n', stderr: '' });
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

test.serial('clients count as packed if no file of theirs is newer', async (t) => {
  t.timeout(900_000);
  const { whl } = await packed(t);
  const folderOfStack = join(stack.dataDir, 'clients');
  t.true(await arePacked(folderOfStack));
  const wheel = join(folderOfStack, basename(whl));
  await utimes(wheel, 0, 0);
  t.false(await arePacked(folderOfStack));
  await utimes(wheel, new Date(), new Date());
  t.true(await arePacked(folderOfStack));
  t.false(await arePacked(join(folder, 'missing')));
});

test.serial('the wheel of the Python client works in an empty environment, with its types', async (t) => {
  t.timeout(900_000);
  const testPython = await findTestPython((line) => t.log(line));
  const python = await installPythonClient(folder, await packed(t), (line) => t.log(line));
  const other = await makeAccount(stack, 1000);
  for (const how of ['sync', 'async']) {
    const { stdout } = await runFile(python, [here('newcomer.py'), how], { env: makeEnv(other) });
    const first = how === 'sync';
    t.deepEqual(JSON.parse(stdout), { ...EXPECTED, left: first ? 999 : 992, calls: first ? 3 : 11 }, how);
  }
  for (const document of ['clients/python/README.md', 'docs/clients.md'])
    t.regex(
      await runPythonOf(document, python, { cwd: folder, env: makeEnv(other) }),
      SHOWN[document] ?? /^$/,
      document,
    );
  const check = ['-m', 'mypy', '--strict', '--python-executable', python];
  await runFile(testPython, [...check, '-p', 'utility_tools'], { cwd: folder });
  await runFile(testPython, [...check, '--cache-dir', join(folder, 'mypy'), here('newcomer.py')]);
  // The sources must parse with the grammar of the oldest supported Python version.
  const parse =
    'import ast, sys; [ast.parse(open(name).read(), feature_version=(3, 9)) for name in sys.argv[1:]]';
  await runFile(python, ['-c', parse, ...globSync(here('../../clients/python/src/utility_tools/*.py'))]);
});

test.serial('the documents install the clients from the addresses of the installation', async (t) => {
  t.timeout(900_000);
  const { tgz, whl, go: goPackage, action, n8n } = await packed(t);
  for (const [document, ...urls] of [
    ['docs/clients.md', tgz, whl, goPackage, action, n8n],
    ['clients/typescript/README.md', tgz],
    ['clients/python/README.md', whl],
    ['clients/go/README.md', goPackage],
    ['clients/github-action/README.md', action],
    ['clients/n8n/README.md', n8n],
  ]) {
    const text = await readFile(here(`../../${document}`), 'utf8');
    for (const url of urls) {
      const address = url.replace(stack.baseUrl, 'http://127.0.0.1:8080');
      t.true(text.includes(`install ${address}`) || text.includes(`curl --fail ${address}`), document);
    }
  }
  for (const name of ['utility-tools-client-9.9.9.tgz', '..%2Fdemo.json', 'demo.json'])
    t.is((await fetch(`${stack.baseUrl}/clients/${name}`)).status, 404, name);
});

/** The first snippet of a document in a language after a heading, for this stack. */
async function snippetOf(document: string, heading: string, language: string): Promise<string> {
  const text = await readFile(here(`../../${document}`), 'utf8');
  const [snippet] = snippetsOf(text.slice(text.indexOf(heading))).filter((it) => it.language === language);
  if (snippet === undefined) throw new Error(`${document} has no snippet in ${language} after "${heading}"`);
  return snippet.code.replaceAll('http://127.0.0.1:8080', stack.baseUrl);
}

test.serial('the Go package, the step and the node are installed as the guide says', async (t) => {
  t.timeout(900_000);
  const { n8n } = await packed(t);
  const program = await go.get((line) => t.log(line));
  const cwd = join(folder, 'guide');
  await mkdir(cwd);
  const env = {
    ...makeEnv(),
    PATH: `${dirname(program)}:${process.env.PATH}`,
    GOPROXY: 'off',
    GOFLAGS: '-mod=mod',
  };
  const shell = (code: string) => runFile('bash', ['-e', '-o', 'pipefail', '-c', code], { cwd, env });
  await shell('go mod init program');
  await shell(await snippetOf('docs/clients.md', '\n## Go\n', 'sh'));
  await writeFile(join(cwd, 'main.go'), await snippetOf('docs/clients.md', '\n## Go\n', 'go'));
  t.is((await shell('go run .')).stdout, `${ABC} 1\n`);

  await shell(await snippetOf('docs/clients.md', '\n## GitHub Actions\n', 'sh'));
  const files = async (at: string) => (await readdir(at)).sort();
  t.deepEqual(
    await files(join(cwd, '.github/actions/site-check')),
    await files(here('../../clients/github-action')),
  );

  const { stdout } = await shell(`curl -sS --fail ${n8n} | tar tz`);
  for (const place of [
    'nodes/UtilityTools/UtilityTools.node.js',
    'credentials/UtilityToolsApi.credentials.js',
    'icons/utilityTools.svg',
  ])
    t.true(stdout.includes(`package/dist/${place}\n`), place);
});

const CREDITS = 10;
/** Less than the 30 s after which the call would fail because the target does not respond. */
const CANCELLED_WITHIN_MS = 15_000;

const untilRequested = (before: number): Promise<true> =>
  until('the target is requested', async () => requests.begun > before);

/** Checks that the only call of the account was cancelled and refunded, and that its connection was closed. */
async function assertCancelled(t: ExecutionContext, account: TestAccount, closed: number): Promise<void> {
  await withStore(stack, (store) =>
    until(
      'the call has ended',
      async () => (await callsOf(store, account.accountId)).every(({ state }) => state !== 'running'),
      CANCELLED_WITHIN_MS,
    ),
  );
  await until('the connection to the target is closed', async () => requests.closed > closed);
  const { items } = await (await account.manage('/api/v1/account/calls')).json();
  t.is(items.length, 1);
  t.like(items[0], { tool: 'http-request', state: 'refunded', code: 'cancelled', charged: 0 });
  t.like(await (await account.manage('/api/v1/account')).json(), { balance: CREDITS, reserved: 0 });
}

test.serial('TypeScript: aborting a call without a key hangs up, and the call is refunded', async (t) => {
  const account = await makeAccount(stack, CREDITS);
  const client = new UtilityTools({ apiKey: account.toolsKey, baseUrl: stack.baseUrl });
  const { begun, closed } = requests;
  const hangup = new AbortController();
  const call = client.httpRequest({ url: targetUrl }, { idempotencyKey: null, signal: hangup.signal });
  // Prevents an unhandled rejection, because the promise may reject before it is awaited.
  call.catch(() => undefined);
  await untilRequested(begun);
  hangup.abort();
  await t.throwsAsync(call, { instanceOf: AbortedError });
  await assertCancelled(t, account, closed);
});

test.serial(
  'Python: cancelling the task of a call without a key hangs up, and the call is refunded',
  async (t) => {
    t.timeout(900_000);
    const account = await makeAccount(stack, CREDITS);
    const python = await findTestPython((line) => t.log(line));
    const { begun, closed } = requests;
    const program = spawn(python, [here('cancel.py')], {
      env: {
        ...machineEnv(),
        PYTHONPATH: here('../../clients/python/src'),
        PYTHONDONTWRITEBYTECODE: '1',
        API_KEY: account.toolsKey,
        BASE_URL: stack.baseUrl,
        TARGET: targetUrl,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    const ended = once(program, 'exit');
    t.teardown(() => program.kill('SIGKILL'));
    await untilRequested(begun);
    program.stdin.write('cancel\n');
    const [printed] = await once(program.stdout, 'data');
    t.is(String(printed), 'cancelled\n');
    await assertCancelled(t, account, closed);
    program.stdin.end();
    t.deepEqual(await ended, [0, null]);
  },
);
