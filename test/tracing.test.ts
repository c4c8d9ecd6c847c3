import { spawnSync } from 'node:child_process';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { Worker } from '@temporalio/worker';
import test from 'ava';
import { loadKeyring } from '../platform/secrets/keyring.ts';
import { connectClient, dataConverter } from '../platform/temporal/temporal.ts';
import { readEnv } from '../schemas/env.ts';
import { LOW_CREDITS } from '../schemas/events.ts';
import { loadWorkflowBundle } from '../workers/bundle.ts';
import { TRACE_HEADER } from '../workflows/contract.ts';
import { makeAccount, withStore } from './helpers/account.ts';
import { type CollectedSpan, type Collector, startCollector } from './helpers/collector.ts';
import { listen } from './helpers/egress.ts';
import { startReceiver } from './helpers/receiver.ts';
import { type Stack, startStack } from './helpers/stack.ts';
import { createMarker, holds } from './helpers/traces.ts';
import { until } from './helpers/until.ts';

const open = new AsyncDisposableStack();
const marker = createMarker();
let collector: Collector;
let stack: Stack;
let target: { url: string; heard: IncomingHttpHeaders[] };

test.before(async (t) => {
  t.timeout(180_000);
  collector = open.adopt(await startCollector(), (it) => it.close());
  const heard: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    heard.push(request.headers);
    response.end(marker.text);
  });
  const port = await listen(server);
  open.defer(() => {
    server.close();
  });
  target = { url: `http://127.0.0.1:${port}/`, heard };
  stack = open.adopt(
    await startStack({
      pools: ['orchestrator', 'delivery', 'network'],
      env: {
        EGRESS_ALLOW: `127.0.0.1:${port}`,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b',
      },
    }),
    (it) => it.stop(),
  );
});
test.after.always(() => open.disposeAsync());

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';

/** Waits until the collector has received a span with this name in the trace. Returns the span. */
const spanOf = (traceId: string, name: string): Promise<CollectedSpan> =>
  until(
    `a span ${name}`,
    async () => collector.spans.find((span) => span.traceId === traceId && span.name === name) ?? null,
  );

test.serial("a call is one trace, from the caller's span to MongoDB and the target", async (t) => {
  t.timeout(120_000);
  const account = await makeAccount(stack, 1000);
  const input = { method: 'GET', url: `${target.url}${encodeURIComponent(marker.text)}` };
  const response = await account.call('http-request', input, { traceparent: `00-${TRACE}-${CALLER}-01` });
  t.is(response.status, 200, await response.clone().text());

  const request = await spanOf(TRACE, 'POST /api/v1/tools/:tool');
  const start = await spanOf(TRACE, 'start workflow callTool');
  const workflow = await spanOf(TRACE, 'workflow callTool');
  const activity = await spanOf(TRACE, 'activity http-request');
  const egress = await until(
    'the egress span',
    async () =>
      collector.spans.find(({ traceId, name }) => traceId === TRACE && name.startsWith('egress ')) ?? null,
  );
  const step = await spanOf(TRACE, 'activity settle');
  const command = await until(
    'the command of the settlement',
    async () =>
      collector.spans.find(
        ({ name, parentSpanId }) => name === 'mongodb findAndModify' && parentSpanId === step.spanId,
      ) ?? null,
  );
  const chain = [request, start, workflow, activity, egress];
  t.deepEqual(
    chain.map(({ parentSpanId }) => parentSpanId),
    [CALLER, ...chain.slice(0, -1).map(({ spanId }) => spanId)],
  );
  t.is(step.parentSpanId, workflow.spanId);
  t.is(command.traceId, TRACE);
  t.deepEqual(
    chain.map(({ service }) => service.replace('utility-tools-', '')),
    ['api', 'api', 'orchestrator', 'network', 'network'],
  );
  t.like(request.attributes, {
    'http.request.method': 'POST',
    'http.route': '/api/v1/tools/:tool',
    'utility_tools.request_id': response.headers.get('x-request-id'),
  });
  t.like(command.attributes, { 'db.system.name': 'mongodb', 'db.collection.name': 'accounts' });
  t.is(collector.headers['x-tenant'], 'a b');
});

test.serial('the history of a traced call can be replayed, with and without a trace', async (t) => {
  t.timeout(120_000);
  const env = readEnv(stack.env);
  const keyring = loadKeyring(env);
  const client = await connectClient(env, keyring);
  t.teardown(() => client.connection.close());
  const row = await withStore(stack, (store) => store.calls.findOne({ tool: 'http-request' }));
  const callId = row?._id ?? '';
  const history = await client.workflow.getHandle(callId).fetchHistory();
  const start = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  t.true(TRACE_HEADER in (start?.header?.fields ?? {}), 'the trace is in the history');
  const workflowBundle = await loadWorkflowBundle((error) => t.log(error));
  const options = { workflowBundle, dataConverter: dataConverter(keyring) };
  await t.notThrowsAsync(Worker.runReplayHistory(options, history, callId));
  if (start) start.header = null;
  await t.notThrowsAsync(Worker.runReplayHistory(options, history, callId));
});

test.serial('the target of a call receives no trace headers', (t) => {
  t.true(target.heard.length > 0);
  for (const headers of target.heard) t.is(headers.traceparent, undefined);
});

test.serial("no span contains the caller's input or the target's response", (t) => {
  t.true(collector.spans.length >= 6);
  for (const body of collector.bodies) t.false(holds(Buffer.from(body), marker), body);
  for (const { name, events } of collector.spans) t.deepEqual(events, [], name);
});

test.serial('a webhook delivery continues the trace of the call that caused its event', async (t) => {
  t.timeout(120_000);
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const account = await makeAccount(stack, LOW_CREDITS);
  const endpoint = await account.manage('/api/v1/account/webhooks', {
    url: receiver.url,
    events: ['credits.low'],
  });
  t.is(endpoint.status, 201, await endpoint.text());
  const response = await account.call('http-request', { method: 'GET', url: target.url });
  t.is(response.status, 200, await response.text());
  const [delivery] = await receiver.until(1);
  const [, traceId = '', spanId = ''] = String(delivery?.headers.traceparent).split('-');
  t.is((await spanOf(traceId, 'activity deliver')).spanId, spanId);
  await spanOf(traceId, 'workflow callTool');
});

test('without a collector, only the API package of OpenTelemetry is loaded', (t) => {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = new Set();
    registerHooks({
      resolve(name, context, next) {
        if (name.startsWith('@opentelemetry/')) loaded.add(name);
        return next(name, context);
      },
    });
    const { startTracing } = await import('./platform/tracing.ts');
    const env = { OTEL_EXPORTER_OTLP_HEADERS: [], OTEL_TRACES_SAMPLER_ARG: 1 };
    for (const OTEL_EXPORTER_OTLP_ENDPOINT of [null, 'http://127.0.0.1:9']) {
      await startTracing({ ...env, OTEL_EXPORTER_OTLP_ENDPOINT }, 'test', null);
      console.log(JSON.stringify([...loaded]));
    }`;
  const args = ['--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const [without, configured]: string[][] = stdout.split('\n', 2).map((line) => JSON.parse(line || '[]'));
  t.deepEqual(without, ['@opentelemetry/api'], stderr);
  t.true(configured?.includes('@opentelemetry/sdk-trace'), 'the hook sees what is loaded');
});
