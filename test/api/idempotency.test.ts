import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import type { Client } from '@temporalio/client';
import test from 'ava';
import { createKeyring, type Keyring, loadKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { readEnv } from '../../schemas/env.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createCalls, IDEMPOTENCY_MS } from '../../store/calls/calls.ts';
import { createResults, mongodbPieces } from '../../store/calls/results.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { reply, type ScriptedDns, soa, startDns } from '../helpers/dns.ts';
import { accountOf, auditWhenIdle, callsOf, untilHeld } from '../helpers/ledgerCheck.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** Part of a TXT record, which the test searches for in the stored result to show that it is encrypted. */
const MARKER = 'find-me-in-the-clear';
/** Number of strings in the TXT record. The result contains each string twice, which makes it larger than 64 KB. */
const TXT_STRINGS = 170;

let stack: Stack;
let store: Store;
let client: Client;
let keyring: Keyring;
let dns: ScriptedDns;

test.before(async () => {
  dns = await startDns((query) => {
    const { name } = query.question;
    // The resolver sends names in randomly mixed case.
    if (name.toLowerCase().startsWith('missing'))
      return reply(query, [], { code: 'NXDOMAIN', authorities: [soa('example.com', 60, 60)] });
    if (query.transport === 'udp') return reply(query, [], { truncated: true });
    const data = Array.from({ length: TXT_STRINGS }, () => MARKER.padEnd(255, '.'));
    return reply(query, [{ type: 'TXT', name, ttl: 60, data }]);
  });
  stack = await startStack({
    apis: 2,
    pools: ['orchestrator', 'cpu', 'network'],
    env: { POOL_WAIT: '80s', DNS_SERVERS: `${dns.address}:${dns.port}` },
  });
  store = await openStore(stack.mongodbUri);
  const env = readEnv(stack.env);
  keyring = loadKeyring(env);
  client = await connectClient(env, keyring);
});
test.after.always(async () => {
  await client?.connection.close();
  await store?.close();
  await stack?.stop();
  await dns?.close();
});

interface Answer {
  status: number;
  body: string;
  requestId: string | null;
  replayed: string | null;
  charged: string | null;
  remaining: string | null;
}

async function read(response: Promise<Response>): Promise<Answer> {
  const { status, headers, ...rest } = await response.then(async (it) => ({
    status: it.status,
    headers: it.headers,
    body: await it.text(),
  }));
  return {
    status,
    ...rest,
    requestId: headers.get('X-Request-Id'),
    replayed: headers.get('Idempotent-Replayed'),
    charged: headers.get('X-Credits-Charged'),
    remaining: headers.get('X-Credits-Remaining'),
  };
}

const codeOf = ({ body }: Answer): unknown => JSON.parse(body).code;
const keyed = (key: string) => ({ 'Idempotency-Key': key });
const send = (account: Pick<TestAccount, 'call'>, tool: string, body: unknown, key: string) =>
  read(account.call(tool, body, keyed(key)));

/** Sends `count` identical calls concurrently, distributed over the API processes. */
const burst = (account: TestAccount, count: number, body: unknown, key: string): Promise<Answer>[] =>
  Array.from({ length: count }, (_, i) =>
    send(account.at(stack.baseUrls[i % stack.baseUrls.length] ?? ''), 'hash-text', body, key),
  );

const workflowsOf = async (accountId: string): Promise<number> =>
  (await client.workflow.count(`AccountId = '${accountId}'`)).count;

test.serial('fifty identical concurrent calls share one execution, charge and body', async (t) => {
  const account = await makeAccount(stack, 10);
  const answers = await Promise.all(burst(account, 50, { text: 'once' }, 'k'));

  t.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  t.is(new Set(answers.map(({ body }) => body)).size, 1);
  t.is(new Set(answers.map(({ requestId }) => requestId)).size, 50);
  t.is(answers.filter(({ replayed }) => replayed === 'true').length, 49);
  const first = answers.filter(({ replayed }) => replayed === null);
  t.deepEqual(
    first.map(({ charged }) => charged),
    ['1'],
  );
  t.true(answers.every(({ replayed, charged }) => replayed === null || charged === '0'));
  t.deepEqual([...new Set(answers.map(({ remaining }) => remaining))], ['9']);

  await until('the workflow can be listed', async () => (await workflowsOf(account.accountId)) === 1);
  t.is((await callsOf(store, account.accountId)).length, 1);
  t.is((await accountOf(store, account.accountId)).balance, 9);

  const replay = await send(account, 'hash-text', { text: 'once' }, 'k');
  t.like(replay, {
    status: 200,
    replayed: 'true',
    charged: '0',
    remaining: '9',
    body: answers[0]?.body ?? '',
  });
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('a call with an Idempotency-Key continues when its API process is killed', async (t) => {
  const account = await makeAccount(stack, 10);
  await stack.kill('cpu');
  const outcomes = Promise.allSettled(burst(account, 20, { text: 'killed' }, 'k'));
  await untilHeld(store, account.accountId, 1);
  await stack.kill('api');
  const other = account.at(stack.baseUrls[1] ?? '');
  const retried = Array.from({ length: 10 }, () => send(other, 'hash-text', { text: 'killed' }, 'k'));
  await stack.restart('api');
  const restarted = send(account, 'hash-text', { text: 'killed' }, 'k');
  await stack.restart('cpu');

  const survivors = (await outcomes).flatMap((it) => (it.status === 'fulfilled' ? [it.value] : []));
  t.is(survivors.length, 10);
  const answers = [...survivors, ...(await Promise.all(retried)), await restarted];
  t.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  t.is(new Set(answers.map(({ body }) => body)).size, 1);
  t.is((await callsOf(store, account.accountId)).length, 1);
  await until('one workflow is listed', async () => (await workflowsOf(account.accountId)) === 1);
  t.is((await accountOf(store, account.accountId)).balance, 9);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('the key with another body or tool is a mismatch, during the call and afterwards', async (t) => {
  const account = await makeAccount(stack, 10);
  await stack.kill('cpu');
  const first = send(account, 'hash-text', { text: 'a', algorithm: 'sha256' }, 'k');
  await untilHeld(store, account.accountId, 1);
  const mismatches = async () => {
    for (const [tool, body] of [
      ['hash-text', { text: 'b', algorithm: 'sha256' }],
      ['qr-generate', { text: 'a' }],
      ['dns-lookup', { hostname: 'example.com' }],
    ] as const) {
      const answer = await send(account, tool, body, 'k');
      t.is(answer.status, 422);
      t.is(codeOf(answer), 'idempotency_key_mismatch');
      t.is(answer.charged, '0');
    }
  };
  await mismatches();
  // White space and the order of members do not change the meaning of a JSON body, so this request joins the first
  // call.
  const joined = send(account, 'hash-text', ' { "algorithm" : "sha256",\n"text":"a" } ', 'k');
  await stack.restart('cpu');
  const [answer, same] = await Promise.all([first, joined]);
  t.like(answer, { status: 200, replayed: null, charged: '1' });
  t.like(same, { status: 200, replayed: 'true', charged: '0', body: answer.body });
  await mismatches();
  t.is((await accountOf(store, account.accountId)).balance, 9);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('the key of a call without sufficient credits can be used again', async (t) => {
  const account = await makeAccount(stack, 0);
  const refused = await send(account, 'hash-text', { text: 'poor' }, 'k');
  t.is(refused.status, 402);
  t.is(codeOf(refused), 'insufficient_credits');
  await createAccounts(store).grant({
    accountId: account.accountId,
    type: 'adjustment',
    amount: 3,
    reference: 'r',
    reason: 'test',
  });
  t.like(await send(account, 'hash-text', { text: 'poor' }, 'k'), {
    status: 200,
    replayed: null,
    charged: '1',
  });

  // Two concurrent calls, with credits for one of them. Afterwards the key of the successful call replays its result,
  // and the other key can be used for another body.
  const poor = await makeAccount(stack, 1);
  const [one, other] = await Promise.all([
    send(poor, 'hash-text', { text: '1' }, 'k1'),
    send(poor, 'hash-text', { text: '2' }, 'k2'),
  ]);
  t.deepEqual([one.status, other.status].sort(), [200, 402]);
  const [wonKey, lostKey] = one.status === 200 ? (['k1', 'k2'] as const) : (['k2', 'k1'] as const);
  t.is((await send(poor, 'hash-text', { text: wonKey.slice(1) }, wonKey)).replayed, 'true');
  t.is((await send(poor, 'hash-text', { text: 'changed' }, lostKey)).status, 402);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('a permanent refusal is stored under its key', async (t) => {
  const account = await makeAccount(stack, 5);
  const first = await send(account, 'dns-lookup', { hostname: 'missing.example.com' }, 'k');
  t.like(first, { status: 422, replayed: null, charged: '0', remaining: '5' });
  t.is(codeOf(first), 'host_not_found');
  t.is(JSON.parse(first.body).requestId, first.requestId);
  for (const { call } of stack.baseUrls.map((url) => account.at(url))) {
    const replay = await send({ call }, 'dns-lookup', { hostname: 'missing.example.com' }, 'k');
    t.like(replay, { status: 422, replayed: 'true', charged: '0', remaining: '5', body: first.body });
    t.not(replay.requestId, first.requestId);
  }
  t.is((await callsOf(store, account.accountId)).length, 1);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('a call with secret inputs never shares its key', async (t) => {
  const account = await makeAccount(stack, 50);
  const secret = { password: 'correct horse', workFactor: 4 };
  const used = (answer: Answer) => {
    t.is(answer.status, 409);
    t.is(codeOf(answer), 'idempotency_key_used');
    t.is(answer.charged, '0');
  };
  await stack.kill('cpu');
  const running = send(account, 'bcrypt-hash', secret, 'secret-first');
  const open = send(account, 'hash-text', { text: 'x' }, 'open-first');
  await untilHeld(store, account.accountId, 2);
  const again = async () => {
    used(await send(account, 'bcrypt-hash', secret, 'secret-first'));
    used(await send(account, 'hash-text', { text: 'x' }, 'secret-first'));
    used(await send(account, 'bcrypt-hash', secret, 'open-first'));
  };
  await again();
  await stack.restart('cpu');
  t.is((await running).status, 200);
  t.is((await open).status, 200);
  await again();
  t.is((await accountOf(store, account.accountId)).balance, 47);
  t.deepEqual(await auditWhenIdle(store), []);
});

/** Inserts the document of a call whose API process died before it could start the workflow. Returns the call id. */
async function claimOnly(accountId: string, key: string, input: Record<string, unknown>): Promise<string> {
  // The canonical JSON (RFC 8785) of the value whose fingerprint is stored; the members are already in canonical order.
  const text = JSON.stringify({ input, tool: 'hash-text' });
  const { call } = await createCalls(store).claim({
    _id: randomUUID(),
    accountId,
    keyId: null,
    keyPrefix: null,
    tool: 'hash-text',
    cost: 1,
    requestId: `req_${randomUUID()}`,
    actsOnWorld: false,
    idempotency: {
      key,
      fingerprint: keyring.mac('fingerprint', text),
      expiresAt: new Date(Date.now() + IDEMPOTENCY_MS),
    },
  });
  return call._id;
}

test.serial(
  'a call whose API process died before the start is run by the next request with its key, or ended by the sweeper',
  async (t) => {
    const account = await makeAccount(stack, 5);
    const input = { algorithm: 'sha256', text: 'orphan' };
    const [taken, left] = await Promise.all([
      claimOnly(account.accountId, 'taken', input),
      claimOnly(account.accountId, 'left', input),
    ]);
    const answer = await send(account, 'hash-text', input, 'taken');
    t.is(answer.status, 200);
    const rows = await callsOf(store, account.accountId);
    t.is(rows.length, 2);
    t.like(
      rows.find(({ _id }) => _id === taken),
      { state: 'charged', charged: 1 },
    );

    const closed = await until('the sweeper ends the call', async () =>
      store.calls.findOne({ _id: left, state: { $ne: 'running' } }),
    );
    t.like(closed, { state: 'refused', charged: 0, code: 'internal' });
    t.is(closed.idempotency, undefined);
    t.like(await send(account, 'hash-text', input, 'left'), { status: 200, replayed: null, charged: '1' });
    t.deepEqual(await auditWhenIdle(store), []);
  },
);

test.serial('a key is valid for one account and for one day', async (t) => {
  const [one, other] = await Promise.all([makeAccount(stack, 5), makeAccount(stack, 5)]);
  t.is((await send(one, 'hash-text', { text: 'one' }, 'k')).status, 200);
  t.like(await send(other, 'hash-text', { text: 'other' }, 'k'), { status: 200, replayed: null });

  const [row] = await callsOf(store, one.accountId);
  const left = (row?.idempotency?.expiresAt.getTime() ?? 0) - (row?.startedAt.getTime() ?? 0);
  t.true(Math.abs(left - 24 * 3_600_000) < 60_000);
  await store.calls.updateOne(
    { accountId: one.accountId },
    { $set: { 'idempotency.expiresAt': new Date(Date.now() - 1) } },
  );
  t.like(await send(one, 'hash-text', { text: 'anew' }, 'k'), { status: 200, replayed: null, charged: '1' });
  t.like(await send(one, 'hash-text', { text: 'anew' }, 'k'), { status: 200, replayed: 'true' });
  t.is((await callsOf(store, one.accountId)).length, 2);
  t.deepEqual(await auditWhenIdle(store), []);
});

/**
 * Returns the status of a call with these raw bytes as its Idempotency-Key; fetch would refuse to send some of them.
 */
function statusForKey(account: TestAccount, key: string): Promise<[number | undefined, unknown]> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${account.toolsKey}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': key,
    };
    const sent = request(
      `${stack.baseUrl}/api/v1/tools/hash-text`,
      { method: 'POST', headers },
      async (response) => {
        const { code } = JSON.parse(Buffer.concat(await response.toArray()).toString());
        resolve([response.statusCode, code]);
      },
    );
    sent.on('error', reject).end(JSON.stringify({ text: 'syntax' }));
  });
}

test.serial('a key has 1 to 255 visible ASCII characters', async (t) => {
  const account = await makeAccount(stack, 5);
  const visible = Array.from({ length: 0x7e - 0x20 }, (_, i) => String.fromCodePoint(0x21 + i)).join('');
  for (const key of ['a', 'k'.repeat(255), visible])
    t.deepEqual(await statusForKey(account, key), [200, undefined], key);
  for (const key of ['', 'k'.repeat(256), 'a b', 'a\tb', 'caf\u00e9', '\u00ff'])
    t.deepEqual(await statusForKey(account, key), [400, 'invalid_header'], key);
  t.is((await accountOf(store, account.accountId)).balance, 2);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('a large result is replayed byte for byte and is stored encrypted', async (t) => {
  const account = await makeAccount(stack, 5);
  const lookup = { hostname: 'big.example.com', recordType: 'TXT' };
  const first = await send(account, 'dns-lookup', lookup, 'k');
  t.like(first, { status: 200, replayed: null, charged: '1' });
  t.true(first.body.length > 64 * 1024 && first.body.includes(MARKER));
  for (const url of stack.baseUrls)
    t.like(await send(account.at(url), 'dns-lookup', lookup, 'k'), {
      status: 200,
      replayed: 'true',
      charged: '0',
      body: first.body,
    });
  const pieces = await store.results.find({}, { promoteBuffers: true }).toArray();
  t.is(pieces.length, 1);
  t.true(pieces.every(({ data }) => !Buffer.from(data).includes(MARKER)));
  const [row] = await callsOf(store, account.accountId);
  const kept = pieces[0]?.expiresAt.getTime() ?? 0;
  t.is(kept - (row?.idempotency?.expiresAt.getTime() ?? 0), 3_600_000);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('a result of several pieces is read completely, only with its own call and key', async (t) => {
  const results = createResults(mongodbPieces(store), keyring);
  const data = Buffer.alloc(40_000_000, `${MARKER} `);
  data.writeUInt32BE(0xdeadbeef, data.length - 4);
  const reference = await results.write('call-1', data, new Date(Date.now() + 60_000));
  t.true(reference.pieces > 1);
  t.true(data.equals(await results.read('call-1', reference)));
  await t.throwsAsync(results.read('call-2', reference));
  await t.throwsAsync(results.read('call-1', { ...reference, pieces: reference.pieces - 1 }));
  const stranger = createKeyring([{ id: keyring.currentId, bytes: Buffer.alloc(32, 1) }]);
  await t.throwsAsync(createResults(mongodbPieces(store), stranger).read('call-1', reference));
  const rows = store.results.find({ _id: { $regex: `^${reference.id}:` } }, { promoteBuffers: true });
  for await (const { data: sealed } of rows) t.false(Buffer.from(sealed).includes(MARKER));
});
