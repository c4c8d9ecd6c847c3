import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { CONFINED_POOLS } from '../../schemas/pools.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import {
  type Account,
  assertHealthy,
  CREDITS,
  createClient,
  type HttpResult,
  NODE_IMAGE,
  PROJECT,
  UP_MS,
  useFixture,
} from './client.ts';
import { testErrors, testIdempotency } from './contract.ts';
import {
  BUILD_MS,
  buildStandIns,
  cache,
  ensureEngine,
  ensureGo,
  env,
  hasFailed,
  here,
  root,
  run,
  runCleanup,
  runTest,
  signal,
  step,
} from './harness.ts';
import { testImages } from './images.ts';
import { testIsolation } from './isolation.ts';
import { testKills } from './kills.ts';
import { copyProject, prepare } from './project.ts';
import { testRestore } from './restore.ts';
import { testTemporalUi } from './temporalUi.ts';

// Tests docker-compose.yml on a real engine, with the commands from the header of that file, in a copy of the project
// without .env, secrets and volumes. The tools reach the fixture container instead of the Internet.
//   npm run test:containers                  uses the machine's Docker, or one started by engine.sh (Debian, root)
//   npm run test:containers -- --stand-ins   for machines without access to an image registry; see stand-ins.sh
//   … --keep                                 prints the folder, and leaves the stack and the engine running
//   … --reuse FOLDER                         tests a stack left by --keep, without building

/** Failed authentications allowed per client address and minute, as in api/auth/failureLimit.ts. */
const FAILURES = 60;

const { values: flags } = parseArgs({
  options: {
    'stand-ins': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    reuse: { type: 'string' },
  },
});

async function ensureCompose(): Promise<void> {
  const version = await run('docker', ['compose', 'version', '--short'], root).catch(() => '');
  if (/^v?[2-9]/.test(version)) return;
  await ensureGo();
  await run(join(here, 'compose-plugin.sh'), [cache], root, BUILD_MS);
  // A Docker configuration folder that contains only the Compose plugin, so that the user's own configuration is not
  // changed.
  env.DOCKER_CONFIG = cache;
}

async function main(): Promise<void> {
  await using owned = new AsyncDisposableStack();
  const folder = flags.reuse ?? (await mkdtemp(join(tmpdir(), 'utility-tools-containers-')));
  const deferCleanup = <T>(cleanup: () => Promise<T>) =>
    owned.defer(async () => void (flags.keep || (await cleanup())));
  if (flags.keep) console.log(`# ${folder}`);
  deferCleanup(() => rm(folder, { recursive: true, force: true }));
  deferCleanup(await ensureEngine());
  await ensureCompose();
  if (flags['stand-ins']) await buildStandIns();
  if (flags.reuse === undefined) await copyProject(folder, PROJECT);
  const client = createClient(folder);
  owned.defer(client.close);
  const registry = await loadRegistry();
  const ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false });
  addFormats.default(ajv);
  let spent = 0;
  let account: Account | null = null;

  await step('docker/prepare.sh creates the secrets and reports no problem except an old engine', async () =>
    assert.deepEqual(await prepare(folder), []),
  );
  if (flags.reuse === undefined)
    await step('docker compose build', () => client.compose(['build'], BUILD_MS));
  deferCleanup(() =>
    runCleanup('docker', ['compose', 'down', '--volumes', '--remove-orphans', '--timeout', '20'], folder),
  );
  await step('docker compose up --wait: every service becomes healthy', async () => {
    await client.compose(['up', '--detach', '--wait'], UP_MS);
    assert.ok((await assertHealthy(client)) >= 17);
  });
  if (hasFailed()) return;

  await testImages(client);
  await step('an account is created, and the proxy serves it over TLS', async () => {
    account = await client.signUp();
    const { status, json } = await client.account();
    assert.deepEqual([status, json.balance], [200, CREDITS]);
  });
  for (const { name, pool, price, output, examples } of registry.values())
    await step(`${name}: the results of its examples match its schema`, async () => {
      for (const { input } of examples) {
        const result = await client.call(name, useFixture(pool, input));
        assert.equal(result.status, 200, result.text);
        spent += price;
        assert.ok(ajv.validate(output, result.json), ajv.errorsText());
        assert.equal(result.headers['x-credits-charged'], String(price));
      }
    });
  await step('smtp-test signs in with a password', async () => {
    const { status, json, text } = await client.call('smtp-test', {
      host: 'mail.example.com',
      port: 2525,
      username: 'jane',
      password: 'correct horse',
    });
    assert.equal(status, 200, text);
    spent += registry.get('smtp-test')?.price ?? 0;
    assert.equal(json.authSucceeded, true, text);
  });
  await step('the confined pools report no missing sandbox', async () => {
    const logs = await client.compose(['logs', '--no-log-prefix', ...CONFINED_POOLS]);
    assert.doesNotMatch(logs, /unconfined|no sandbox|without a sandbox|no network namespace/i);
  });
  await testIsolation(client);
  spent += await testTemporalUi(client, registry.get('hash-text')?.price ?? 0);
  await testErrors(client);
  const once = { text: 'once' };
  let first: HttpResult | null = null;
  await step('calls with the same Idempotency-Key return the same bytes and are charged once', async () => {
    first = await client.call('hash-text', once, { 'Idempotency-Key': 'containers-1' });
    assert.equal(first.status, 200, first.text);
    spent += registry.get('hash-text')?.price ?? 0;
    const again = await client.call('hash-text', once, { 'Idempotency-Key': 'containers-1' });
    assert.deepEqual([again.status, again.text], [200, first.text]);
    assert.deepEqual(
      [again.headers['idempotent-replayed'], again.headers['x-credits-charged']],
      ['true', '0'],
    );
  });
  await step('the balance equals the granted credits minus the prices', async () => {
    assert.equal((await client.account()).json.balance, CREDITS - spent);
  });
  await step('docker compose up --scale api=2: both replicas serve calls', async () => {
    await client.compose(['up', '--detach', '--wait', '--no-recreate', '--scale', 'api=2'], UP_MS);
    assert.equal((await client.services()).filter(({ Service }) => Service === 'api').length, 2);
    // Waits until the proxy has resolved the API replicas again, which it does every 2 s.
    await sleep(3_000, undefined, { signal });
    const results = await Promise.all(
      Array.from({ length: 40 }, () => client.call('hash-text', { text: 'x' })),
    );
    assert.deepEqual([...new Set(results.map(({ status }) => status))], [200]);
    spent += 40 * (registry.get('hash-text')?.price ?? 0);
    for (const replica of ['1', '2']) {
      const logs = await client.compose(['logs', '--no-log-prefix', '--index', replica, 'api']);
      assert.match(logs, /hash-text/, `replica ${replica}`);
    }
  });
  await testIdempotency(client, registry);
  await step('when one of two replicas is killed, every call still succeeds', async () => {
    const id =
      (await client.compose(['ps', '--quiet', '--status', 'running', 'api'])).trim().split('\n')[0] ?? '';
    await run('docker', ['kill', id], folder);
    for (let call = 0; call < 20; call++) {
      const { status, text } = await client.call('hash-text', { text: `after ${call}` });
      assert.equal(status, 200, text);
      spent += registry.get('hash-text')?.price ?? 0;
    }
  });
  await step('a forged X-Forwarded-For does not evade the limit by address', async () => {
    const codes: number[] = [];
    for (let attempt = 0; attempt <= FAILURES; attempt++) {
      const headers = { 'X-Forwarded-For': `198.51.100.${attempt}`, Forwarded: `for=198.51.100.${attempt}` };
      codes.push((await client.send('/api/v1/account', { key: 'ut_wrong', headers })).status);
    }
    assert.deepEqual([codes[0], codes.at(-1)], [401, 429]);
  });
  await step('the limit does not affect a client at another address', async () => {
    // Runs in the proxy's network namespace, so that its address differs from this machine's.
    const script = `require('node:https').get(
      { host: 'proxy', servername: 'localhost', path: '/api/v1/account', rejectUnauthorized: false,
        headers: { host: 'localhost', authorization: 'Bearer ut_wrong' } },
      (response) => console.log(response.statusCode) || process.exit())`;
    const network = `${PROJECT}_public`;
    const status = await run(
      'docker',
      ['run', '--rm', '--network', network, NODE_IMAGE, 'node', '-e', script],
      folder,
    );
    assert.equal(status.trim(), '401');
  });
  await step('keys, balance and stored results survive down and up', async () => {
    await client.compose(['down', '--timeout', '60'], UP_MS);
    await client.compose(['up', '--detach', '--wait'], UP_MS);
    const { json } = await client.account();
    assert.equal(json.balance, CREDITS - spent);
    const again = await client.call('hash-text', once, { 'Idempotency-Key': 'containers-1' });
    assert.deepEqual([again.text, again.headers['idempotent-replayed']], [first?.text, 'true']);
    const fresh = await client.call('hash-text', { text: 'after' });
    assert.equal(fresh.status, 200, fresh.text);
    spent += registry.get('hash-text')?.price ?? 0;
  });
  spent += await testKills(client, registry);
  await step(
    'the balance equals the granted credits minus the prices, after everything was killed',
    async () => {
      assert.equal((await client.account()).json.balance, CREDITS - spent);
    },
  );
  await step('the ledger audit finds no drift', () =>
    client.compose(['exec', '-T', 'api', 'node', 'api/cli/audit.ts']),
  );
  if (account !== null) await testRestore({ client, folder, account, deferCleanup });
  if (hasFailed() && !flags.keep) console.log(await client.compose(['logs', '--tail', '30']));
}

await runTest(main);
