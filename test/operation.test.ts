import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { Client, Connection, ScheduleOverlapPolicy } from '@temporalio/client';
import test from 'ava';
import { loadKeyring } from '../platform/secrets/keyring.ts';
import { connectClient } from '../platform/temporal/temporal.ts';
import { readEnv } from '../schemas/env.ts';
import { openStore, type Store } from '../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from './helpers/account.ts';
import { recordAt } from './helpers/json.ts';
import { auditWhenIdle } from './helpers/ledgerCheck.ts';
import { internalUrlOf, readLog } from './helpers/processLog.ts';
import { type Stack, startStack, TARGET_HOST } from './helpers/stack.ts';
import { until } from './helpers/until.ts';

let stack: Stack;
let store: Store;
let account: TestAccount;

test.before(async () => {
  stack = await startStack({
    pools: ['orchestrator', 'delivery', 'cpu', 'network', 'browser'],
    env: { LOG_LEVEL: 'info', EGRESS_ALLOW: `${TARGET_HOST}/32` },
  });
  store = await openStore(stack.mongodbUri);
  account = await makeAccount(stack, 20);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

const logOf = (name: string) => readLog(stack, name);
const urlOf = (name: string) => internalUrlOf(stack, name);

/** Reads the metrics of a process with Prometheus's own parser for Python. Returns the values by `name{labels}`. */
async function scrape(internalUrl: string): Promise<Map<string, number>> {
  const response = await fetch(`${internalUrl}/metrics`);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  const parse = `
import json, sys
from prometheus_client.parser import text_string_to_metric_families
print(json.dumps([[s.name, s.labels, s.value] for f in text_string_to_metric_families(sys.stdin.read()) for s in f.samples if s.value == s.value and abs(s.value) != float('inf')]))`;
  const { stdout, stderr, status } = spawnSync('/usr/bin/python3', ['-c', parse], {
    input: text,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  const samples: [string, Record<string, string>, number][] = JSON.parse(stdout);
  return new Map(
    samples.map(([name, labels, value]) => {
      const text = Object.entries(labels)
        .filter(([label]) => label !== 'process')
        .map(([label, of]) => `${label}=${of}`)
        .sort();
      return [`${name}{${text}}`, value];
    }),
  );
}

test.serial('the metrics of all processes agree with the requests that a caller made', async (t) => {
  const before = await scrape(stack.internalUrl);
  for (const algorithm of ['sha256', 'sha512']) {
    const response = await account.call('hash-text', { text: 'count me', algorithm });
    t.is(response.status, 200);
  }
  t.is((await account.call('hash-text', {})).status, 422);
  t.is((await account.call('bcrypt-verify', { password: 'x', hash: 'y' })).status, 422);
  t.is((await fetch(`${stack.baseUrl}/api/v1/account/keys/none/at/all`)).status, 404);

  const api = await scrape(stack.internalUrl);
  const more = (name: string) => (api.get(name) ?? 0) - (before.get(name) ?? 0);
  const route = 'route=/api/v1/tools/:tool';
  t.is(more(`utility_tools_http_request_seconds_count{method=POST,${route},status=200}`), 2);
  t.is(more(`utility_tools_http_request_seconds_count{method=POST,${route},status=422}`), 2);
  t.is(more('utility_tools_http_request_seconds_count{method=GET,route=none,status=404}'), 1);
  t.is(more('utility_tools_calls_total{outcome=ok,tool=hash-text}'), 2);
  t.is(more('utility_tools_credits_charged_total{tool=hash-text}'), 2);
  t.true((api.get('process_cpu_seconds_total{}') ?? 0) > 0);

  const cpu = await scrape(await urlOf('cpu'));
  t.is(cpu.get('utility_tools_tool_seconds_count{outcome=ok,tool=hash-text}'), 2);
  t.true((cpu.get('utility_tools_pool_slots{}') ?? 0) >= 1);
  t.is(cpu.get('utility_tools_pool_busy{}'), 0);
  t.true(
    [...cpu.keys()].some((name) => name.startsWith('temporal_')),
    "the SDK's metrics are included",
  );

  const orchestrator = await scrape(await urlOf('orchestrator'));
  t.is(orchestrator.get('utility_tools_old_holds{}'), 0);
  t.is(orchestrator.get('utility_tools_queue_length{queue=tools-cpu}'), 0);
});

test.serial('the metrics of the browsers count the captures', async (t) => {
  const artist = await makeAccount(stack, 25);
  t.is((await artist.call('html-to-image', { html: 'x', fullPage: true })).status, 200);
  const samples = await scrape(await urlOf('browser'));
  const get = (name: string) => samples.get(`utility_tools_${name}`);
  for (const phase of ['queue', 'navigate', 'settle', 'scroll', 'capture']) {
    t.is(get(`browser_phases_total{phase=${phase}}`), 1, phase);
    t.true((get(`browser_phase_seconds_total{phase=${phase}}`) ?? 0) > 0, phase);
  }
  t.is(get('browser_phases_total{phase=overlays}'), 0);
  for (const state of ['queued', 'running']) t.is(get(`browser_jobs{state=${state}}`), 0, state);
  t.true((get('browsers_total{event=started}') ?? 0) >= 1);
  for (const event of ['recycled', 'discarded', 'crashed', 'over_memory', 'hung', 'failed'])
    t.is(get(`browsers_total{event=${event}}`), 0, event);
});

test.serial('/readyz of a network worker names the method with which the ping tool probes', async (t) => {
  const caller = await makeAccount(stack, 2);
  const response = await caller.call('ping', { host: TARGET_HOST, count: 1 });
  const { method } = await response.json();
  t.true(['icmp', 'tcp'].includes(method));
  const ready = await (await fetch(`${await urlOf('network')}/readyz`)).json();
  t.is(recordAt(ready, 'details').ping, method);
});

test.serial('the metrics show the backlog of a pool and the age of the oldest hold', async (t) => {
  const orchestrator = await urlOf('orchestrator');
  const poor = await makeAccount(stack, 3);
  await stack.kill('cpu', 'SIGKILL');
  const waiting = poor.call('hash-text', { text: 'wait' });
  await until('the queue shows the call', async () => {
    const samples = await scrape(orchestrator);
    return samples.get('utility_tools_queue_length{queue=tools-cpu}') === 1;
  });
  const [callId] = Object.keys((await store.accounts.findOne({ _id: poor.accountId }))?.holds ?? {});
  const old = new Date(Date.now() - 601_000);
  await store.accounts.updateOne({ _id: poor.accountId }, { $set: { [`holds.${callId}.at`]: old } });
  t.is((await scrape(orchestrator)).get('utility_tools_old_holds{}'), 1);
  await stack.restart('cpu');
  t.is((await waiting).status, 200);
  t.is((await scrape(orchestrator)).get('utility_tools_old_holds{}'), 0);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('the log line of a call contains its account, tool, code, credits and phases', async (t) => {
  // A call that takes some time, so that the sum of the phases says something.
  const good = await account.call('bcrypt-hash', { password: 'log me', workFactor: 12 });
  const bad = await account.call('hash-text', {});
  const lineOf = (response: Response) =>
    until('the API has written the line', async () => {
      const id = response.headers.get('X-Request-Id');
      return (await logOf('api')).find((line) => line.msg === 'request' && line.requestId === id) ?? null;
    });
  const { accountId } = account;
  const line = await lineOf(good);
  t.like(line, { account: accountId, tool: 'bcrypt-hash', credits: 2, status: 200 });
  t.false('code' in line);
  const phases = recordAt(line, 'phases');
  t.deepEqual(Object.keys(phases), ['authenticate', 'read', 'start', 'run', 'respond']);
  const total = Object.values(phases).reduce<number>((sum, ms) => sum + Number(ms), 0);
  // Each phase is rounded, and the process can be suspended after the last one has been measured.
  t.true(total <= Number(line.ms) + Object.keys(phases).length, JSON.stringify(line));
  t.true(Number(phases.run) > 0);
  const refused = await lineOf(bad);
  t.like(refused, { account: accountId, tool: 'hash-text', credits: 0, code: 'invalid_input', status: 422 });
  t.deepEqual(Object.keys(recordAt(refused, 'phases')), ['authenticate', 'read']);
});

test.serial('the ledger is audited on a schedule, and the metrics show any drift', async (t) => {
  t.timeout(120_000);
  const orchestrator = await urlOf('orchestrator');
  const figure = async (name: string) => (await scrape(orchestrator)).get(`utility_tools_${name}`);
  const success = 'maintenance_last_success_timestamp_seconds{what=audit}';
  await until('the first audit has run by itself', async () => ((await figure(success)) ?? 0) > 0);
  t.is(await figure('maintenance_last_success_timestamp_seconds{what=backup}'), 0, 'no backup was made');

  const connection = await Connection.connect({ address: stack.temporalAddress });
  t.teardown(() => connection.close());
  const schedule = new Client({ connection, namespace: stack.namespace }).schedule.getHandle('audit');
  t.deepEqual(
    (await schedule.describe()).spec.intervals?.map(({ every }) => every),
    [3_600_000],
  );
  const change = (balance: number) =>
    store.accounts.updateOne({ _id: account.accountId }, { $inc: { balance } });
  await auditWhenIdle(store);
  // An earlier audit may still be running; this one then begins after it.
  const auditNow = () => schedule.trigger(ScheduleOverlapPolicy.BUFFER_ONE);
  await change(1);
  await auditNow();
  await until('the audit has found the drift', async () => ((await figure('audit_drift{}')) ?? 0) > 0);
  await until('the drift is logged', async () =>
    (await logOf('orchestrator')).some(
      ({ msg, accountId }) => msg === 'the ledger is inconsistent' && accountId === account.accountId,
    ),
  );
  await change(-1);
  await auditNow();
  await until('the audit has found no drift', async () => (await figure('audit_drift{}')) === 0);
});

test.serial('the alerts and the dashboard use only metrics that the processes export', async (t) => {
  const urls = [
    stack.internalUrl,
    ...(await Promise.all(['orchestrator', 'delivery', 'cpu', 'browser'].map(urlOf))),
  ];
  const texts = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()));
  const known = new Set(
    [...texts.join('\n').matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name + part) : [name],
    ),
  );
  for (const file of ['deploy/prometheus/rules.yml', 'deploy/grafana/dashboard.json']) {
    const used = new Set((await readFile(file, 'utf8')).match(/\butility_tools_\w+/g));
    t.true(used.size > 10, file);
    t.deepEqual([...used].filter((name) => !known.has(name)).sort(), [], file);
  }
  const documented = await readFile('docs/operations.md', 'utf8');
  for (const name of new Set(documented.match(/`utility_tools_\w+/g)))
    t.true(
      [...known].some((it) => it.startsWith(name.slice(1))),
      name,
    );
});

test.serial('operators can see at which line of the workflow a running call waits', async (t) => {
  const account = await makeAccount(stack, 1);
  const env = readEnv(stack.env);
  const client = await connectClient(env, loadKeyring(env));
  try {
    await stack.kill('cpu', 'SIGKILL');
    const waiting = account.call('hash-text', { text: 'wait' });
    const callId = await until('the call holds its price', async () => {
      const [id] = Object.keys((await store.accounts.findOne({ _id: account.accountId }))?.holds ?? {});
      return id ?? false;
    });
    const trace = () => client.workflow.getHandle(callId).query<string>('__stack_trace');
    await until('the workflow waits for the tool', async () =>
      /at runTool .*callTool\.ts/s.test(await trace()),
    );
    await stack.restart('cpu');
    t.is((await waiting).status, 200);
  } finally {
    await client.connection.close();
  }
});

test.serial('the same request id appears in the logs of API, workflow and tool', async (t) => {
  const response = await account.call('hash-text', { text: 'follow me' });
  const requestId = response.headers.get('X-Request-Id');
  for (const [name, message] of [
    ['api', 'request'],
    ['cpu', 'tool'],
    ['cpu', 'call ended'],
  ] as const)
    await until(`${name} has written the file`, async () =>
      (await logOf(name)).some((line) => line.msg === message && line.requestId === requestId),
    );
  const lines = (await Promise.all(['api', 'cpu'].map(logOf))).flat();
  t.false(JSON.stringify(lines).includes('follow me'), 'inputs are not logged');
});

test.serial('operators can find a call by tool and account, and a failed one by its code', async (t) => {
  const account = await makeAccount(stack, 10);
  await account.call('hash-text', { text: 'a' });
  // The history of a refused call is kept only for replays with its key.
  const key = { 'Idempotency-Key': 'kept' };
  await account.call('watermark-image', { fileUrl: 'http://127.0.0.1/a.png', text: 'a' }, key);
  const connection = await Connection.connect({ address: stack.temporalAddress });
  const client = new Client({ connection, namespace: stack.namespace });
  const closed = (tool: string) =>
    until(`the call of ${tool} is listed as closed`, async () => {
      const query = `Tool = "${tool}" AND AccountId = "${account.accountId}" AND ExecutionStatus != "Running"`;
      for await (const execution of client.workflow.list({ query })) return execution;
      return false;
    });
  try {
    t.is((await closed('hash-text')).status.name, 'COMPLETED');
    const { status, workflowId } = await closed('watermark-image');
    t.is(status.name, 'FAILED');
    const history = await client.workflow.getHandle(workflowId).fetchHistory();
    const end = history.events?.at(-1)?.workflowExecutionFailedEventAttributes?.failure;
    t.is(end?.applicationFailureInfo?.type, 'target_refused');
  } finally {
    await connection.close();
  }
});
