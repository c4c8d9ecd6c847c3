import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import test from 'ava';
import { type Servers, startServers } from '../dev/stack.ts';
import { type Keyring, loadKeyring } from '../platform/secrets/keyring.ts';
import { askVault } from '../platform/secrets/vault.ts';
import { createCodec } from '../platform/temporal/codec.ts';
import { connectClient } from '../platform/temporal/temporal.ts';
import { readEnv } from '../schemas/env.ts';
import { loadRegistry } from '../schemas/registry.ts';
import { secretFields, type ToolDefinition } from '../schemas/tool.ts';
import { createCallContents } from '../store/calls/callContents.ts';
import type { CallState } from '../store/calls/callDocs.ts';
import { audit } from '../store/ledger/audit.ts';
import { openStore, type Store } from '../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from './helpers/account.ts';
import { type Collector, startCollector } from './helpers/collector.ts';
import { recordAt } from './helpers/json.ts';
import { accountOf, auditWhenIdle, callsOf } from './helpers/ledgerCheck.ts';
import { type Peer, type ScriptedSmtp, startSmtp } from './helpers/smtp.ts';
import { type Stack, startStack } from './helpers/stack.ts';
import {
  createMarker,
  holds,
  type Marker,
  searchFiles,
  searchMongodb,
  searchTemporal,
} from './helpers/traces.ts';
import { until } from './helpers/until.ts';

/** How long a call waits for a worker: short, so that calls without a worker end soon. */
const POOL_WAIT = '15s';
const CREDITS = 10_000;

interface Scene {
  folder: string;
  servers: Servers;
  stack: Stack;
  store: Store;
  client: Client;
  keyring: Keyring;
  tools: ToolDefinition[];
  account: TestAccount;
  mail: ScriptedSmtp;
  collector: Collector;
}

const secret: Marker = createMarker();
/** A marker that is sent in a place that may be stored, to show that the search would find a stored secret. */
const control: Marker = createMarker();
const open = new AsyncDisposableStack();
let scene: Scene;

/**
 * Runs a mail server that repeats everything it receives in all its replies, from AUTH on with the secret. Before, a server
 * cannot know the secret, and its replies are reported as they are.
 */
async function repeat(peer: Peer): Promise<void> {
  const base64 = Buffer.from(`The password is ${secret.text}.`).toString('base64');
  let echo = 'ready';
  peer.say(`220 ${echo}\r\n`);
  for (;;) {
    const line = await peer.hear();
    const isAuth = line.startsWith('AUTH');
    if (isAuth) echo = `${secret.text} ${base64}`;
    const code = isAuth ? 535 : 250;
    peer.say(`${code}-${echo}\r\n${code}-X-ECHO ${line} ${echo}\r\n${code} AUTH PLAIN\r\n`);
  }
}

test.before(async (t) => {
  t.timeout(300_000);
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'secrets-')), (it) =>
    rm(it, { recursive: true, force: true }),
  );
  const log = (line: string) => t.log(line);
  const servers = open.adopt(await startServers({ dataDir: folder, log }), (it) => it.stop());
  const tools = [...(await loadRegistry()).values()].filter((tool) => secretFields(tool).length > 0);
  const pools = ['orchestrator', ...new Set([...tools.map(({ pool }) => pool), 'cpu'])];
  const mail = open.adopt(await startSmtp(repeat), (it) => it.close());
  const collector = open.adopt(await startCollector(), (it) => it.close());
  const env = {
    LOG_LEVEL: 'trace',
    POOL_WAIT,
    EGRESS_ALLOW: `${mail.address}:${mail.port}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  };
  const stack = open.adopt(await startStack({ servers, pools, env }), (it) => it.stop());
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const read = readEnv(stack.env);
  const keyring = loadKeyring(read);
  const client = await connectClient(read, keyring);
  open.defer(() => client.connection.close());
  const account = await makeAccount(stack, CREDITS);
  // This account keeps the input and output of its calls, so that the search covers them too.
  await createCallContents(store, keyring, (error) => t.log(error)).setKeeping(account.accountId, true);
  scene = { folder, servers, stack, store, client, keyring, tools, account, mail, collector };
});
test.after.always(() => open.disposeAsync());

/** Returns the tool's first example with the marker as its secret. */
function inputOf(tool: ToolDefinition, text = secret.text): Record<string, unknown> {
  const secrets = Object.fromEntries(secretFields(tool).map((field) => [field, text]));
  const host = 'host' in tool.input.properties ? { host: scene.mail.address } : {};
  return { ...tool.examples[0]?.input, ...host, ...secrets };
}

const find = (name: string): ToolDefinition => {
  const tool = scene.tools.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`${name} has no secrets`);
  return tool;
};

/** Returns a call that runs long enough for the test to act during it. */
const slow = () => ({ tool: 'bcrypt-hash', input: { ...inputOf(find('bcrypt-hash')), workFactor: 14 } });

/** Suspends the worker of slow calls during `act`, so that none of them ends before the test has looked at it. */
async function whileSuspended<T>(act: () => Promise<T>): Promise<T> {
  const { stack } = scene;
  await stack.kill('cpu', 'SIGSTOP');
  try {
    return await act();
  } finally {
    await stack.kill('cpu', 'SIGCONT');
  }
}

/** Waits until the account has this many calls. Returns the id of the newest. */
async function newest(account: TestAccount, count: number): Promise<string> {
  const rows = await until('the call is accepted', async () => {
    const found = await callsOf(scene.store, account.accountId);
    return found.length >= count && found;
  });
  return rows.at(-1)?._id ?? '';
}

/** Returns the vault reference that the call's workflow received. */
async function vaultOf(callId: string): Promise<{ url: string; token: string }> {
  const { client, keyring } = scene;
  const history = await until('the workflow has started', () =>
    client.workflow
      .getHandle(callId)
      .fetchHistory()
      .catch(() => null),
  );
  const input = history.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const [payload] = await createCodec(keyring).decode([...input]);
  const request: unknown = JSON.parse(Buffer.from(payload?.data ?? []).toString('utf8'));
  const { url, token } = recordAt({ request }, 'request', 'vault');
  return { url: String(url), token: String(token) };
}

/** Waits until a worker has started the tool of the call. */
const taken = (callId: string) =>
  until('a worker has started the tool', async () => {
    // The call is recorded before its workflow is started, so the workflow may not exist yet.
    const workflow = await scene.client.workflow
      .getHandle(callId)
      .describe()
      .catch(() => null);
    return (workflow?.raw.pendingActivities ?? []).some(({ lastStartedTime }) => lastStartedTime != null);
  });

/**
 * Requests the secrets of a call from the vault, with the token and the master key. Returns null if the vault has no
 * secrets for it.
 */
async function ask(callId: string, { url, token }: { url: string; token: string }) {
  const exchange = askVault(scene.keyring, callId, token);
  const response = await fetch(`${url}/vault`, { method: 'POST', body: new Uint8Array(exchange.request) });
  return response.ok ? exchange.open(new Uint8Array(await response.arrayBuffer())) : null;
}

test.serial('some tools have secret inputs', (t) => {
  t.log(scene.tools.map(({ name }) => name).join(', '));
  t.true(scene.tools.length >= 3);
});

test.serial('secrets are sent in every way that is accepted or refused', async (t) => {
  t.timeout(180_000);
  const { account, tools } = scene;
  const poor = await makeAccount(scene.stack, 0);
  for (const tool of tools) {
    const { name } = tool;
    const input = inputOf(tool);
    const [field = ''] = secretFields(tool);
    const answers: [string, Response, number[]][] = [
      ['as it should be', await account.call(name, input), [200, 422, 502, 504]],
      ['with a key', await account.call(name, input, { 'Idempotency-Key': name }), [200, 422, 502, 504]],
      ['without credits', await poor.call(name, input), [402]],
      ['too dear', await account.call(name, input, { 'X-Max-Credits': '0' }), [402]],
      ['unknown field', await account.call(name, { ...input, [secret.text]: secret.text }), [422]],
      ['wrong type', await account.call(name, { ...input, [field]: [secret.text] }), [422]],
      ['too long', await account.call(name, { ...input, [field]: secret.text.repeat(50_000) }), [413]],
      ['no JSON', await account.call(name, `{"${field}": "${secret.text.slice(0, 20)}`), [400]],
      ['bad header', await account.call(name, input, { 'Idempotency-Key': 'ä' }), [400]],
      ['no key', await account.call(name, input, { Authorization: 'Bearer nobody' }), [401]],
      ['wrong tool', await account.call(`${name}x`, input), [404]],
      ['wrong type of body', await account.call(name, secret.text, { 'Content-Type': 'text/plain' }), [415]],
    ];
    if (tool.input.properties.hash !== undefined)
      answers.push(['no hash', await account.call(name, { ...input, hash: secret.text }), [422]]);
    for (const [what, response, statuses] of answers) {
      const body = await response.text();
      t.true(statuses.includes(response.status), `${name} ${what}: ${response.status} ${body.slice(0, 300)}`);
      if (name === 'smtp-test' && response.ok) t.false(holds(Buffer.from(body), secret), body);
    }
  }
  t.true(scene.mail.heard.filter((line) => line.startsWith('AUTH PLAIN ')).length === 2);
});

test.serial('an Idempotency-Key that was used with secrets cannot be used again', async (t) => {
  const { account, tools } = scene;
  for (const tool of tools) {
    const again = await account.call(tool.name, inputOf(tool), { 'Idempotency-Key': `${tool.name}` });
    // The key of a refused call may be free again, so the call may also run.
    t.true([409, 502, 504].includes(again.status), `${tool.name}: ${again.status}`);
  }
});

test.serial('the token of a call gives access to its secrets only while the call runs', async (t) => {
  t.timeout(120_000);
  const { account } = scene;
  const before = (await callsOf(scene.store, account.accountId)).length;
  const { tool, input } = slow();
  const { answer, callId, vault } = await whileSuspended(async () => {
    const answer = account.call(tool, input);
    const callId = await newest(account, before + 1);
    const vault = await vaultOf(callId);
    t.deepEqual(await ask(callId, vault), { password: secret.text }, 'the vault can be asked');
    t.is(await ask(callId, { ...vault, token: `${vault.token}x` }), null);
    return { answer, callId, vault };
  });
  t.is((await answer).status, 200);
  t.is(await ask(callId, vault), null);
});

test.serial(
  'when a caller disconnects, early or late, with or without a key, no secrets stay in the vault',
  async (t) => {
    t.timeout(180_000);
    const { account, store, stack } = scene;
    const moments: [headers: Record<string, string>, isLate: boolean, states: CallState[]][] = [
      // Whether there is a hold to refund depends on how far the workflow has progressed.
      [{}, false, ['refused', 'refunded', 'charged']],
      [{ 'Idempotency-Key': 'hung-up-soon' }, false, ['refused', 'refunded', 'charged']],
      [{}, true, ['refunded', 'charged']],
      [{ 'Idempotency-Key': 'hung-up-late' }, true, ['refunded', 'charged']],
    ];
    for (const [headers, isLate, states] of moments) {
      const before = (await callsOf(store, account.accountId)).length;
      const { tool, input } = slow();
      const hangup = new AbortController();
      const callAndHangUp = async () => {
        const answer = fetch(`${stack.baseUrl}/api/v1/tools/${tool}`, {
          method: 'POST',
          headers: {
            Authorization: `Bearer ${account.toolsKey}`,
            'Content-Type': 'application/json',
            ...headers,
          },
          body: JSON.stringify(input),
          signal: hangup.signal,
        });
        const callId = await newest(account, before + 1);
        const vault = await vaultOf(callId);
        if (isLate) await taken(callId);
        hangup.abort();
        await t.throwsAsync(answer);
        return { callId, vault };
      };
      const { callId, vault } = await (isLate ? callAndHangUp() : whileSuspended(callAndHangUp));
      const row = await until('the call has ended', async () => {
        const found = await store.calls.findOne({ _id: callId });
        return found !== null && found.state !== 'running' && found;
      });
      t.true(states.includes(row.state), row.state);
      await until('the vault is empty', async () => (await ask(callId, vault)) === null);
    }
  },
);

test.serial(
  'calls without a worker, and calls whose worker is killed, leave no secrets in the vault',
  async (t) => {
    t.timeout(180_000);
    const { account, stack, store } = scene;
    const { tool, input } = slow();

    await stack.kill('cpu');
    const refused = await account.call(tool, input);
    t.is(recordAt({ body: await refused.json() }, 'body').code, 'pool_busy');
    await stack.restart('cpu');

    const before = (await callsOf(store, account.accountId)).length;
    const answer = account.call(tool, input);
    const callId = await newest(account, before + 1);
    await taken(callId);
    await stack.kill('cpu');
    await stack.restart('cpu');
    const { status } = await answer;
    t.is(status, 200, 'another attempt fetched the secrets again');
  },
);

test.serial('if the API process that holds the secrets is killed, the call is refunded', async (t) => {
  t.timeout(180_000);
  const { account, stack, store } = scene;
  await auditWhenIdle(store);
  const { balance } = await accountOf(store, account.accountId);
  const before = (await callsOf(store, account.accountId)).length;
  const { tool, input } = slow();
  await stack.kill('cpu');
  const answer = account.call(tool, input).catch(() => null);
  const callId = await newest(account, before + 1);
  await vaultOf(callId);
  await stack.kill('api');
  t.is(await answer, null);
  await stack.restart('cpu');
  const row = await until('the call has ended', async () => {
    const found = await store.calls.findOne({ _id: callId });
    return found !== null && found.state !== 'running' && found;
  });
  t.like(row, { state: 'refunded', code: 'internal', charged: 0 });
  await stack.restart('api');
  t.deepEqual(await auditWhenIdle(store), []);
  t.is((await accountOf(store, account.accountId)).balance, balance);
  t.is((await account.call(tool, input)).status, 200, 'the same call after the API is back');
});

test.serial('no document of MongoDB contains the secrets, including the oplog', async (t) => {
  t.timeout(120_000);
  const { store } = scene;
  await store.db.collection('control').insertOne({ text: control.text });
  const base64 = { text: Buffer.from(`x${control.text}`).toString('base64') };
  await store.db.collection('control').insertOne(base64);
  const { found, collections } = await searchMongodb(store.client, control);
  t.log(`${collections.length} collections`);
  t.is(found[`${store.db.databaseName}.control`], 2, 'the search finds existing text, also in base64');
  t.is(found['local.oplog.rs'], 2);
  t.deepEqual((await searchMongodb(store.client, secret)).found, {});
});

test.serial(
  'kept inputs and outputs contain no secrets, and those of accounts that keep none are in no database',
  async (t) => {
    t.timeout(120_000);
    const { account, stack, store, keyring } = scene;
    const contents = createCallContents(store, keyring, (error) => t.log(error));
    const unkept = createMarker();
    const other = await makeAccount(stack, CREDITS);
    const kept = createMarker();
    t.is((await other.call('hash-text', { text: unkept.text })).status, 200);
    t.is((await account.call('hash-text', { text: kept.text })).status, 200);
    const opened = async () => {
      const rows = await store.callContents.find().toArray();
      const found = await Promise.all(rows.map(({ _id, accountId }) => contents.find(accountId, _id)));
      return found.map((content) => Buffer.from(JSON.stringify(content)));
    };
    const texts = await until('the last call is kept', async () => {
      const found = await opened();
      return found.some((text) => holds(text, kept)) && found;
    });
    t.log(`${texts.length} kept calls`);
    t.true(texts.length > scene.tools.length);
    for (const marker of [secret, unkept]) t.false(texts.some((text) => holds(text, marker)));
    t.is(await store.callContents.countDocuments({ accountId: other.accountId }), 0);
    t.deepEqual((await searchMongodb(store.client, unkept)).found, {});

    await contents.setKeeping(account.accountId, false);
    t.deepEqual(await opened(), []);
  },
);

test.serial('Temporal stores no secrets, neither encoded nor decoded', async (t) => {
  t.timeout(120_000);
  const { account, client, keyring } = scene;
  t.is((await account.call('hash-text', { text: control.text })).status, 200);
  const codec = createCodec(keyring);
  const sent = await until('the control input is found in Temporal', async () => {
    const traces = await searchTemporal(client, codec, control);
    return traces.decoded.length > 0 && traces;
  });
  t.log(`${sent.workflows} workflows, ${sent.payloads} payloads`);
  t.deepEqual(sent.plain, [], 'an input is encrypted');
  const traces = await searchTemporal(client, codec, secret);
  t.deepEqual([traces.plain, traces.decoded], [[], []]);
  const rows = await scene.store.calls.countDocuments();
  t.true(traces.workflows >= rows - 1, `${traces.workflows} workflows for ${rows} calls`);
});

test.serial('no file contains the secrets: databases, logs, data folders', async (t) => {
  t.timeout(180_000);
  const { folder, stack, store } = scene;
  t.deepEqual((await audit(store)).drift, []);
  await sleep(500);
  await store.client.db('admin').command({ fsync: 1 });
  const here = await searchFiles(folder, control);
  t.log(`${here.files} files, ${here.bytes} bytes`);
  t.true(here.found.length > 0, 'the control document is found in the files of MongoDB');
  for (const place of [folder, stack.dataDir])
    t.deepEqual((await searchFiles(place, secret)).found, [], place);
  const logs = await searchFiles(stack.dataDir, { text: '', needles: [Buffer.from('"name":"api"')] });
  t.true(logs.found.length > 0, 'the searched files include the logs');
});

test.serial('no exported trace contains the secrets or other input', (t) => {
  const { collector, tools } = scene;
  const named = new Set(collector.spans.map(({ name }) => name));
  for (const { name } of tools) t.true(named.has(`activity ${name}`), name);
  for (const marker of [secret, control])
    t.deepEqual(
      collector.bodies.filter((body) => holds(Buffer.from(body), marker)),
      [],
    );
});
