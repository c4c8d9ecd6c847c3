import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { withStore } from '../helpers/account.ts';
import { FREE_CREDITS, useStack } from '../helpers/profiles.ts';
import { freshCredentials, signUp } from '../helpers/session.ts';
import { startDatabase } from '../helpers/stack.ts';

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const ROOT = new URL('../../', import.meta.url).pathname;
const TIMEOUT_MS = 60_000;

const stack = await useStack();
test.after.always(() => stack.stop());

/** Runs a program until it exits, with `env` in addition to the machine's environment variables. */
function execute(file: string, args: readonly string[], env: Record<string, string>): Promise<Ended> {
  const options = {
    cwd: ROOT,
    env: { ...machineEnv(), ...env },
    timeout: TIMEOUT_MS,
    encoding: 'utf8',
  } as const;
  return new Promise((resolve) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      resolve({ code: typeof code === 'number' ? code : -1, stdout, stderr });
    });
  });
}

/** Runs the command of this npm script without npm, because npm takes longer than the command. */
const run = (script: 'admin' | 'audit', args: readonly string[], env = stack.env): Promise<Ended> =>
  execute(process.execPath, [`api/cli/${script}.ts`, ...args], env);

/** Runs an admin command with --json. Asserts that it succeeds and returns the object that it prints. */
async function admin(...args: string[]) {
  const { code, stdout, stderr } = await run('admin', [...args, '--json']);
  if (code !== 0 || stderr !== '' || !/^[^\n]+\n$/.test(stdout))
    throw new Error(`${args.join(' ')}: ${code} ${stderr}${stdout}`);
  return JSON.parse(stdout);
}

const email = () => `${randomUUID()}@example.com`;

async function get(path: string, key: string) {
  const response = await fetch(`${stack.baseUrl}${path}`, { headers: { Authorization: `Bearer ${key}` } });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

const hash = (key: string) =>
  fetch(`${stack.baseUrl}/api/v1/tools/hash-text`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: '{"text":"a"}',
  });

test.serial(
  'create-account: creates the requested credits and two valid keys, and no credit event',
  async (t) => {
    const address = `Upper.${email()}`;
    const made = await admin('create-account', '--email', address, '--credits', '3');
    t.deepEqual(Object.keys(made), ['accountId', 'apiKey', 'accountKey']);
    const { body } = await get('/api/v1/account', made.accountKey);
    t.like(body, { id: made.accountId, email: address.toLowerCase(), balance: 3, available: 3 });

    const keys = (await get('/api/v1/account/keys', made.accountKey)).body.items;
    t.deepEqual(
      keys.map(({ name, scopes }: Record<string, unknown>) => [name, scopes]),
      [
        ['default', ['account']],
        ['default', ['tools']],
      ],
    );
    const events = (await get('/api/v1/account/events', made.accountKey)).body.items;
    t.deepEqual(
      events.map(({ event }: Record<string, unknown>) => event),
      ['api_key.created', 'api_key.created'],
    );
    for (const status of [200, 200, 200, 402]) t.is((await hash(made.apiKey)).status, status);
    const lines = (await get('/api/v1/account/ledger', made.accountKey)).body.items;
    t.deepEqual(
      lines.map(({ amount }: Record<string, unknown>) => amount),
      [-1, -1, -1, 3],
    );
  },
);

test.serial('create-account: the default is FREE_CREDITS; 0 is a valid number', async (t) => {
  const balance = async (accountKey: string) => (await get('/api/v1/account', accountKey)).body.balance;
  t.is(await balance((await admin('create-account', '--email', email())).accountKey), FREE_CREDITS);
  t.is(await balance((await admin('create-account', '--email', email(), '--credits=0')).accountKey), 0);
  const { stdout } = await run('admin', ['create-account', '--json', '--email', email()], {
    ...stack.env,
    FREE_CREDITS: '7',
  });
  t.is(await balance(JSON.parse(stdout).accountKey), 7);
});

test.serial('suspend refuses the calls of an account and keeps its keys, and lift ends that', async (t) => {
  const { accountId, apiKey, accountKey } = await admin('create-account', '--email', email());
  const suspended = await admin('suspend', '--account', accountId, '--reason', 'Calls to a stolen list.');
  t.like(suspended, { id: accountId, reason: 'Calls to a stolen list.' });
  const refused = await hash(apiKey);
  t.is(refused.status, 403);
  t.like(JSON.parse(await refused.text()), {
    code: 'account_suspended',
    detail: 'The account was suspended by an operator of the service. The dashboard shows the reason.',
  });
  t.is((await get('/api/v1/account', accountKey)).status, 200);
  t.deepEqual(await admin('lift', '--account', accountId), {
    id: accountId,
    suspendedAt: null,
    shortfall: 0,
  });
  t.is((await hash(apiKey)).status, 200);
  await admin('lift', '--account', accountId);
  await withStore(stack, async (store) => {
    const log = await store.securityEvents.find({ accountId, kind: /susp/ }).sort({ at: 1 }).toArray();
    t.like(log, [
      {
        kind: 'account_suspended',
        subject: 'Calls to a stolen list.',
        isOperator: true,
        operator: 'command line',
      },
      { kind: 'suspension_lifted', isOperator: true, operator: 'command line' },
    ]);
    t.is(log.length, 2);
  });
});

test.serial('accounts shares: lists what accounts hold now', async (t) => {
  const { accountId } = await admin('create-account', '--email', email());
  await withStore(stack, async (store) => {
    const expire = new Date(Date.now() + 3_600_000);
    await store.db.collection('attempts').insertMany([
      { key: `uncharged:${accountId}`, points: 41, expire },
      { key: `kept-results:${accountId}`, points: 2048, expire },
      { key: `account-change:${accountId}`, points: 3, expire },
    ]);
    await store.accounts.updateOne({ _id: accountId }, { $set: { running: { browser: 5 }, reserved: 50 } });
    const use = { connections: 3, receivedBytes: 4, unreadBytes: 5 };
    // Two processes, of which the second has ended.
    const clients = { accounts: [{ client: accountId, ...use }], addresses: [{ client: accountId, ...use }] };
    await store.apiProcesses.insertMany([
      { _id: `${accountId}-1`, renewedAt: new Date(), clients },
      { _id: `${accountId}-2`, renewedAt: new Date(Date.now() - 60_000), clients },
    ]);
  });
  const { items } = await admin('accounts', 'shares');
  t.like(
    items.find((row: Record<string, unknown>) => row.accountId === accountId),
    {
      running: { browser: 5 },
      reserved: 50,
      uncharged: 41,
      keptBytes: 2_097_152,
      changes: 3,
      connections: 3,
      receivedBytes: 4,
      unreadBytes: 5,
      isSuspended: false,
      pausedUntil: null,
    },
  );
  t.deepEqual(
    (await admin('addresses')).items.filter((row: Record<string, unknown>) => row.client === accountId),
    [{ client: accountId, connections: 3, receivedBytes: 4, unreadBytes: 5 }],
  );
  await withStore(stack, async (store) => {
    await store.accounts.updateOne({ _id: accountId }, { $set: { running: {}, reserved: 0 } });
    await store.apiProcesses.deleteMany({ _id: { $in: [`${accountId}-1`, `${accountId}-2`] } });
  });
});

test.serial('adjust: adds and deducts credits; a shortfall suspends the account', async (t) => {
  const { accountId, apiKey, accountKey } = await admin(
    'create-account',
    '--email',
    email(),
    '--credits',
    '10',
  );
  const adjust = (...credits: string[]) =>
    admin('adjust', '--account', accountId, '--reason', 'a test', ...credits);
  t.deepEqual(await adjust('--credits', '+5'), { balance: 15, shortfall: 0 });
  t.deepEqual(await adjust('--credits', '-20'), { balance: 0, shortfall: 5 });
  const refused = await hash(apiKey);
  t.is(refused.status, 403);
  t.is(JSON.parse(await refused.text()).code, 'account_suspended');
  t.deepEqual(await adjust('--credits=6'), { balance: 1, shortfall: 0 });
  t.is((await hash(apiKey)).status, 200);

  const events = (await get('/api/v1/account/events', accountKey)).body.items;
  const granted = events.filter(({ event }: Record<string, unknown>) => event === 'credits.granted');
  t.like(
    granted.map(({ data }: Record<string, unknown>) => data),
    [
      { balance: 1, amount: 6, source: 'adjustment' },
      { balance: 15, amount: 5, source: 'adjustment' },
    ],
  );
  const reasons = await withStore(stack, (store) => store.grants.distinct('reason', { accountId }));
  t.deepEqual(reasons, ['a test']);
  for (const collection of ['grants', 'entries'] as const) {
    const filter = { accountId, type: 'adjustment' } as const;
    const rows = await withStore(stack, (store) =>
      store.db.collection(collection).find(filter).project({ operator: 1 }).toArray(),
    );
    t.true(rows.length > 0 && rows.every(({ operator }) => operator === 'command line'), collection);
  }
});

test.serial('adjust: a reference is applied once and cannot be reused for another amount', async (t) => {
  const { accountId } = await admin('create-account', '--email', email(), '--credits', '0');
  const args = ['adjust', '--account', accountId, '--reason', 'r', '--reference', 'ticket 1', '--credits'];
  const answers = await Promise.all([1, 2, 3].map(() => admin(...args, '10')));
  t.deepEqual(answers, Array(3).fill({ balance: 10, shortfall: 0 }));
  t.deepEqual(await admin(...args, '10'), { balance: 10, shortfall: 0 });
  const { code, stderr, stdout } = await run('admin', [...args, '11', '--json']);
  t.deepEqual([code, stdout], [1, '']);
  t.regex(stderr, /^reference "ticket 1" was used for 10 credits.*\n$/);
  t.like(await admin('accounts', 'show', '--account', accountId), { balance: 10 });
});

test.serial('keys can be created, listed and revoked', async (t) => {
  const { accountId } = await admin('create-account', '--email', email(), '--credits', '5');
  const account = ['--account', accountId];
  const made = await admin('keys', 'create', ...account, '--name', 'ops', '--tools', 'hash-text,qr-generate');
  t.like(made, { name: 'ops', scopes: ['tools'], tools: ['hash-text', 'qr-generate'], expiresAt: null });
  t.is((await hash(made.key)).status, 200);
  const own = await admin(
    'keys',
    'create',
    ...account,
    '--name',
    'own',
    '--scope',
    'account',
    '--expires',
    '2999-01-01T00:00:00Z',
  );
  t.like(own, { scopes: ['account'], expiresAt: '2999-01-01T00:00:00.000Z' });

  t.deepEqual(await admin('keys', 'revoke', ...account, '--key', made.id), { revoked: made.id });
  t.is((await hash(made.key)).status, 401);

  const { items, nextCursor } = await admin('keys', ...account, '--limit', '1');
  t.deepEqual(
    items.map(({ id }: Record<string, unknown>) => id),
    [own.id],
  );
  const rest = await admin('keys', 'list', ...account, '--cursor', nextCursor);
  t.is(rest.items[0].id, made.id);
  t.truthy(rest.items[0].revokedAt);
  t.is(rest.items.length, 3);
  t.false(JSON.stringify([items, rest]).includes(made.key));
});

test.serial('accounts can be found by email or id, listed and changed', async (t) => {
  const address = email();
  const { accountId } = await admin('create-account', '--email', address, '--credits', '5');
  const { createdAt, ...row } = await admin('accounts', 'show', '--email', address.toUpperCase());
  t.true(Date.parse(createdAt) <= Date.now());
  t.deepEqual(row, {
    id: accountId,
    email: address,
    balance: 5,
    reserved: 0,
    available: 5,
    shortfall: 0,
    monthlyAllowance: 0,
  });
  t.deepEqual(await admin('accounts', 'list', '--email', address), {
    items: [{ ...row, createdAt }],
    nextCursor: null,
  });
  t.true((await admin('accounts')).items.length > 0);
  const changed = await admin('accounts', 'set', '--account', accountId, '--monthly-allowance', '100');
  t.is(changed.monthlyAllowance, 100);
});

test.serial('without --json the same data is printed as a table', async (t) => {
  const address = email();
  const { accountId } = await admin('create-account', '--email', address, '--credits', '5');
  const shown = await run('admin', ['accounts', 'show', '--account', accountId]);
  t.regex(shown.stdout, new RegExp(`^id +${accountId}\nemail +${address}\n[^]*^balance +5\n`, 'm'));
  const keys = await run('admin', ['keys', '--account', accountId]);
  t.regex(keys.stdout, /^ *id +name +prefix +scopes/m);
  t.is(keys.stdout.match(/^key_\S+ +default +ut_\S{6} /gm)?.length, 2);
});

const MISUSED: [string, string[], RegExp][] = [
  ['no command', [], /command is missing/],
  ['an unknown one', ['drop-everything'], /unknown command "drop-everything"/],
  ['an unknown option', ['create-account', '--email', 'a@b', '--free', '1'], /--free/],
  ['a missing option', ['create-account'], /--email E is missing/],
  ['an option without its value', ['create-account', '--email'], /--email/],
  ['an empty value', ['create-account', '--email', ''], /--email is empty/],
  ['an option given twice', ['create-account', '--email', 'a@b', '--email', 'c@d'], /--email is repeated/],
  ['a word too many', ['create-account', 'now', '--email', 'a@b'], /now/],
  ['an invalid email', ['create-account', '--email', 'nobody'], /email address, not "nobody"/],
  [
    'credits that are no number',
    ['create-account', '--email', 'a@b', '--credits', '1e3'],
    /--credits.*"1e3"/,
  ],
  ['credits below zero', ['create-account', '--email', 'a@b', '--credits', '-1'], /--credits.*"-1"/],
  ['a half credit', ['adjust', '--account', 'x', '--reason', 'r', '--credits', '0.5'], /--credits.*"0.5"/],
  ['a change of 0', ['adjust', '--account', 'x', '--reason', 'r', '--credits', '0'], /--credits/],
  [
    'more than there can be',
    ['adjust', '--account', 'x', '--reason', 'r', '--credits', '9'.repeat(12)],
    /--credits/,
  ],
  ['no reason', ['adjust', '--account', 'x', '--credits', '5'], /--reason R is missing/],
  ['a bad limit', ['accounts', '--limit', '0'], /--limit/],
  [
    'an unknown role',
    ['users', 'set', '--email', 'a@b', '--role', 'king'],
    /--role must be owner or operator/,
  ],
  ['neither id nor e-mail', ['accounts', 'show'], /--account ID or --email E/],
];

for (const [name, args, line] of MISUSED)
  test.serial(`invalid usage prints one line and exits with status 2: ${name}`, async (t) => {
    // No database address is set, because invalid usage must be detected before connecting.
    const { code, stdout, stderr } = await run('admin', [...args, '--json'], { DATA_DIR: '/nonexistent' });
    t.deepEqual([code, stdout], [2, '']);
    t.regex(stderr, line);
    t.is(stderr.indexOf('\n'), stderr.length - 1);
  });

const FAILS: [string, string[], RegExp][] = [
  [
    'adjust of an unknown account',
    ['adjust', '--account', 'acc_x', '--credits', '5', '--reason', 'r'],
    /no account "acc_x"/,
  ],
  ['keys of an unknown account', ['keys', '--account', 'acc_x'], /no account "acc_x"/],
  [
    'a key for an unknown account',
    ['keys', 'create', '--account', 'acc_x', '--name', 'n'],
    /no account "acc_x"/,
  ],
  [
    'an unknown e-mail address',
    ['accounts', 'show', '--email', 'x@example.com'],
    /no account for "x@example.com"/,
  ],
  [
    'a user who never signed up',
    ['users', 'set', '--email', 'x@example.com', '--role', 'operator'],
    /no user "x@example.com"/,
  ],
  [
    'an account to be changed',
    ['accounts', 'set', '--account', 'acc_x', '--monthly-allowance', '1'],
    /no account "acc_x"/,
  ],
];

for (const [name, args, line] of FAILS)
  test.serial(`a command that fails prints one line and exits with status 1: ${name}`, async (t) => {
    const { code, stdout, stderr } = await run('admin', args);
    t.deepEqual([code, stdout], [1, '']);
    t.regex(stderr, line);
    t.is(stderr.indexOf('\n'), stderr.length - 1);
  });

test.serial('users set makes a user an operator, and an owner again', async (t) => {
  const credentials = freshCredentials();
  const cookie = await signUp(stack.baseUrl, credentials);
  const status = async () => {
    const init = { headers: { Cookie: cookie }, redirect: 'manual' } as const;
    return (await fetch(`${stack.baseUrl}/codec/operator`, init)).status;
  };
  t.is(await status(), 403);
  const set = (role: string) => admin('users', 'set', '--email', credentials.email, '--role', role);
  t.deepEqual(await set('operator'), { email: credentials.email, role: 'operator' });
  t.is(await status(), 204);
  await set('owner');
  t.is(await status(), 403);
});

test.serial('values that the API refuses are refused by the commands too', async (t) => {
  const address = email();
  const { accountId } = await admin('create-account', '--email', address, '--credits', '5');
  const again = await run('admin', ['create-account', '--email', address]);
  t.deepEqual([again.code, again.stdout], [1, '']);
  t.regex(again.stderr, /An account with this email address already exists/);
  const create = (...args: string[]) => run('admin', ['keys', 'create', '--account', accountId, ...args]);
  for (const [option, value, line] of [
    ['--tools', 'no-such', /^\/tools\/0 is not a tool\n$/],
    ['--scope', 'root', /^\/scopes\/0 must be one of tools, account\n$/],
    ['--expires', 'soon', /^\/expiresAt [^\n]*\n$/],
  ] as const) {
    const { code, stderr } = await create('--name', 'n', option, value);
    t.is(code, 2);
    t.regex(stderr, line);
  }
  const cursor = await run('admin', ['keys', '--account', accountId, '--cursor', 'x']);
  t.is(cursor.code, 2);
  const revoke = await run('admin', ['keys', 'revoke', '--account', accountId, '--key', 'key_x']);
  t.is(revoke.code, 1);
});

test.serial('--help lists the commands and the options of a command', async (t) => {
  const all = await run('admin', ['--help'], {});
  t.is(all.code, 0);
  for (const name of ['create-account', 'adjust', 'keys create', 'accounts list'])
    t.true(all.stdout.includes(name));
  const one = await run('admin', ['adjust', '--help'], {});
  t.is(one.code, 0);
  t.regex(one.stdout, /--credits ±N .*\n.*--reason R /);
  t.is((await run('audit', ['--help'], {})).code, 0);
});

test.serial('npm scripts pass on arguments, output and exit status', async (t) => {
  const npm = (...args: string[]) => execute('npm', ['run', '-s', ...args], stack.env);
  const made = await npm('admin', '--', 'create-account', '--email', email(), '--credits', '30', '--json');
  t.deepEqual([made.code, made.stderr], [0, '']);
  const { accountId } = JSON.parse(made.stdout);
  const adjust = ['adjust', '--account', accountId, '--credits', '-7', '--reason', 'two words', '--json'];
  t.is((await npm('admin', '--', ...adjust)).stdout, '{"balance":23,"shortfall":0}\n');
  t.is((await npm('admin', '--', 'nothing')).code, 2);
  t.is((await npm('audit', '--', '--fix')).code, 2);
});

test.serial('the commands find the stack that runs in DATA_DIR, and report when none runs', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-cli-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const none = await run('admin', ['accounts'], { DATA_DIR: folder });
  t.is(none.code, 1);
  t.regex(none.stderr, /^no stack runs in .*\n$/);
  t.is((await run('audit', [], { DATA_DIR: folder })).stderr, none.stderr);

  const demo = {
    mongodbUri: stack.mongodbUri,
    temporalAddress: stack.temporalAddress,
    temporalNamespace: stack.namespace,
  };
  await writeFile(join(folder, 'demo.json'), JSON.stringify(demo));
  const there = await run('admin', ['create-account', '--json', '--email', email()], { DATA_DIR: folder });
  t.is(there.code, 0, there.stderr);
  t.is((await get('/api/v1/account', JSON.parse(there.stdout).accountKey)).status, 200);

  const gone = { ...demo, mongodbUri: 'mongodb://user:hush@127.0.0.1:1/utility_tools?replicaSet=rs0' };
  await writeFile(join(folder, 'demo.json'), JSON.stringify(gone));
  const silent = await run('admin', ['accounts'], { DATA_DIR: folder });
  t.is(silent.code, 1);
  t.regex(silent.stderr, /^MongoDB at 127\.0\.0\.1:1 does not respond.*\n$/);
  t.false(silent.stderr.includes('hush'));

  await writeFile(join(folder, 'demo.json'), '{}');
  t.is((await run('admin', ['accounts'], { DATA_DIR: folder })).code, 1);
});

test.serial(
  'audit: exit status 0 without drift, 1 with drift, and 0 again after the correction',
  async (t) => {
    const own = await startDatabase();
    try {
      const env = { ...stack.env, MONGODB_URI: own.mongodbUri };
      const made = await run(
        'admin',
        ['create-account', '--json', '--email', email(), '--credits', '9'],
        env,
      );
      const { accountId } = JSON.parse(made.stdout);
      await run('admin', ['create-account', '--email', email()], env);

      const right = await execute('npm', ['run', '-s', 'audit', '--', '--json'], env);
      t.deepEqual([right.code, JSON.parse(right.stdout)], [0, { accounts: 2, drift: [] }]);

      const change = (by: number) =>
        withStore(own, (store) => store.accounts.updateOne({ _id: accountId }, { $inc: { balance: by } }));
      await change(1);
      const wrong = await run('audit', ['--json'], env);
      const drift = [{ accountId, what: 'balance', expected: 9, found: 10 }];
      t.deepEqual([wrong.code, JSON.parse(wrong.stdout)], [1, { accounts: 2, drift }]);
      const shown = await run('audit', [], env);
      t.is(shown.code, 1);
      t.regex(shown.stdout, new RegExp(`${accountId} +balance +9 +10\n`));

      await change(-1);
      t.is((await run('audit', ['--json'], env)).code, 0);
      const misused = await run('audit', ['--fix'], env);
      t.deepEqual([misused.code, misused.stdout], [2, '']);
    } finally {
      await own.stop();
    }
  },
);
