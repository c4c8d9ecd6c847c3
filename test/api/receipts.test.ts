import { execFileSync } from 'node:child_process';
import { createHmac, createPublicKey } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import canonicalize from 'canonicalize';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { batchesOf, linesOf, NDJSON } from '../helpers/batches.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { callsOf } from '../helpers/ledgerCheck.ts';
import { isProblem } from '../helpers/problem.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget, type SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

let stack: SharedStack;
let store: Store;
let folder: string;
let server: Server;
let target: string;
/** The request that the target has not answered. */
let held: ServerResponse | null = null;

test.before(async () => {
  stack = await useStack();
  store = await openStore(stack.mongodbUri);
  folder = await mkdtemp(join(tmpdir(), 'utility-tools-receipts-'));
  server = createServer(({ url }, response) => {
    if (url === '/held') held = response;
    else response.end('x'.repeat(200_000));
  });
  target = await listenAsTarget(server);
});
test.after.always(async () => {
  server?.closeAllConnections();
  server?.close();
  await store?.close();
  await stack?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

const receiptPath = (id: string): string => `/api/v1/account/calls/${id}/receipt`;
const decode = (part: string): Buffer => Buffer.from(part, 'base64url');
const jsonOf = (part: string): Json => recordAt(JSON.parse(decode(part).toString()));

/** Whether openssl accepts the signature of a receipt with the published key that the receipt names. */
async function isGenuine(receipt: string): Promise<boolean> {
  const { keys } = await (await fetch(`${stack.baseUrl}/.well-known/jwks.json`)).json();
  const [header = '', payload = '', signature = ''] = receipt.split('.');
  const { kid } = jsonOf(header);
  const jwk = recordsAt(keys).find((key) => key.kid === kid) ?? {};
  const files = { key: join(folder, 'key.pem'), data: join(folder, 'data'), signature: join(folder, 'sig') };
  await writeFile(
    files.key,
    createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' }),
  );
  await writeFile(files.data, `${header}.${payload}`);
  await writeFile(files.signature, decode(signature));
  const verify = ['pkeyutl', '-verify', '-pubin', '-inkey', files.key, '-rawin', '-in', files.data];
  try {
    execFileSync('openssl', [...verify, '-sigfile', files.signature], { timeout: 10_000, stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

/** The input of a tool with the defaults that `GET /api/v1/tools` lists. */
async function withDefaults(tool: string, sent: Json): Promise<Json> {
  const { items } = await (await fetch(`${stack.baseUrl}/api/v1/tools`)).json();
  const schema = recordsAt(items).find(({ name }) => name === tool);
  const defaults = Object.entries(recordAt(schema, 'input', 'properties')).flatMap(([name, property]) => {
    const { default: value } = recordAt(property);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(defaults), ...sent };
}

const hmac = (key: unknown, data: string): string =>
  createHmac('sha256', decode(String(key)))
    .update(data)
    .digest('base64url');

interface Ended {
  /** Id of the call or of its request. */
  id: string;
  tool: string;
  sent: Json;
  /** The output as JSON, as the caller got it. */
  output: string;
}

const HASH = { tool: 'hash-text', sent: { text: 'abc' } };

async function synchronous(
  account: TestAccount,
  { tool, sent }: Pick<Ended, 'tool' | 'sent'>,
  headers: Record<string, string> = {},
): Promise<Ended> {
  const response = await account.call(tool, sent, headers);
  if (response.status !== 200) throw new Error(await response.text());
  return { id: response.headers.get('X-Request-Id') ?? '', tool, sent, output: await response.text() };
}

async function job(account: TestAccount): Promise<Ended> {
  const jobs = jobsOf(account, stack.baseUrl);
  const { id } = await jobs.create({ tool: HASH.tool, input: HASH.sent });
  await jobs.ended(id);
  return { ...HASH, id, output: await (await jobs.result(id)).text() };
}

async function row(account: TestAccount): Promise<Ended> {
  const batches = batchesOf(account, stack.baseUrl);
  const { id } = await batches.create({ tool: HASH.tool, inputs: [HASH.sent] });
  await batches.reached(id);
  const results = await batches.request(`/${id}/results`, { headers: { Accept: NDJSON } });
  const [line = {}] = linesOf(await results.text());
  return { ...HASH, id: String(line.callId), output: JSON.stringify(line.output) };
}

test('each kind of charged call has a receipt with its digests, which openssl verifies', async (t) => {
  const account = await makeAccount(stack, 100);
  const page = { tool: 'http-request', sent: { url: `http://${target}/large` } };
  const calls = [
    await synchronous(account, HASH),
    await synchronous(account, HASH, { 'Idempotency-Key': 'k' }),
    await synchronous(account, page),
    await job(account),
    await row(account),
  ];
  const digests = new Set<unknown>();
  for (const { id, tool, sent, output } of calls) {
    const response = await account.manage(receiptPath(id));
    t.is(response.status, 200);
    t.is(response.headers.get('Cache-Control'), 'no-store');
    const { receipt, inputKey, outputKey } = await response.json();
    t.true(await isGenuine(receipt), tool);
    const [header = '', payload = '', signature = ''] = String(receipt).split('.');
    t.like(jsonOf(header), { alg: 'EdDSA', typ: 'receipt+jwt' });
    const claims = jsonOf(payload);
    const call = await store.calls.findOne({ _id: String(claims.callId) });
    if (call === null) return t.fail();
    t.like(claims, {
      iss: stack.baseUrl,
      sub: account.accountId,
      requestId: call.requestId,
      tool,
      credits: call.cost,
      acceptedAt: call.startedAt.toISOString(),
      chargedAt: call.finishedAt?.toISOString(),
      inputDigest: hmac(inputKey, canonicalize(await withDefaults(tool, sent)) ?? ''),
      outputDigest: hmac(outputKey, output),
    });
    t.true([call._id, call.requestId].includes(id));
    const forged = Buffer.from(JSON.stringify({ ...claims, credits: 0 })).toString('base64url');
    t.false(await isGenuine(`${header}.${forged}.${signature}`));
    for (const digest of [claims.inputDigest, claims.outputDigest]) digests.add(digest);
  }
  t.is(digests.size, 2 * calls.length, 'equal inputs and outputs have different digests');
});

test('only the owner gets a receipt, and only for a call that ended with a charge', async (t) => {
  const account = await makeAccount(stack, 100);
  const stranger = await makeAccount(stack, 0);
  const { id } = await synchronous(account, HASH);
  await isProblem(t, await stranger.manage(receiptPath(id)), 'not_found');
  const headers = { Authorization: `Bearer ${account.toolsKey}` };
  await isProblem(t, await fetch(`${stack.baseUrl}${receiptPath(id)}`, { headers }), 'insufficient_scope');

  const failed = await account.call('http-request', { url: 'http://127.0.0.1:9/' });
  const refusedId = failed.headers.get('X-Request-Id') ?? '';
  t.not(failed.status, 200);
  await isProblem(t, await account.manage(receiptPath(refusedId)), 'not_found');

  const running = synchronous(account, { tool: 'http-request', sent: { url: `http://${target}/held` } });
  const response = await until('the request has arrived', async () => held);
  const call = (await callsOf(store, account.accountId)).find(({ state }) => state === 'running');
  const path = receiptPath(call?._id ?? '');
  await isProblem(t, await account.manage(path), 'not_finished');
  response.end('ok');
  await running;
  t.is((await account.manage(path)).status, 200);

  const charged = await store.calls.findOne({ _id: call?._id ?? '' });
  if (charged === null) return t.fail();
  const ledger = createLedger(store, (error) => t.fail(String(error)));
  await createPaybacks({ store, ledger, accounts: createAccounts(store) }).settle(charged, 'internal');
  const { detail } = await isProblem(t, await account.manage(path), 'not_found');
  t.regex(String(detail), /price was returned/);
});
