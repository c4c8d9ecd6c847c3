import { randomBytes } from 'node:crypto';
import test from 'ava';
import { isRecord } from '../../schemas/isRecord.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { type Collector, startCollector } from '../helpers/collector.ts';
import { recordAt } from '../helpers/json.ts';
import { type Stack, startNamespace, startStack } from '../helpers/stack.ts';
import { startTemporalProxy, type TemporalProxy } from '../helpers/temporalProxy.ts';
import { until } from '../helpers/until.ts';

/*
 * What a charged call of hash-text with a key costs when everything is warm. A change that adds a command, a request or a span to
 * every call changes a number here.
 *
 * Calls run one at a time, and each figure is the median of all: it leaves out what happens at intervals and not for each call.
 */

/** MongoDB commands, counted by the server's profiler. Durable ones are waited for until the disk has them, and so take longest. */
const COMMANDS = {
  // Until the response: the key with its account, a token, the claim, the reservation, a check for an earlier end, the settlement.
  'aggregate apiKeys': 1,
  'findAndModify buckets': 1,
  'findAndModify calls': 1,
  'durable findAndModify accounts': 2,
  'find calls': 1,
  // Afterwards: that the response was taken, and the copy of the journal. Calls at the same time share the copy.
  'update calls': 2,
  'insert entries': 1,
  'update accounts': 1,
};

/** Requests to Temporal, without the polls of the workers. */
const REQUESTS = {
  StartWorkflowExecution: 1,
  // The steps of the ledger and the tool are one local activity of a single task, which arrives with the response to the start.
  // The worker gives the result to the API.
  RespondWorkflowTaskCompleted: 1,
};

/** Spans, by process. */
const SPANS = {
  'api POST /api/v1/tools/:tool': 1,
  'api start workflow callTool': 1,
  'api mongodb aggregate': 1,
  'api mongodb findAndModify': 2,
  'cpu workflow callTool': 1,
  'cpu activity runWhole': 1,
  'cpu mongodb find': 1,
  'cpu mongodb findAndModify': 2,
  'cpu mongodb insert': 1,
  'cpu mongodb update': 2,
};

/** Collections that a process uses every few seconds: health checks, leases, and mails and top-ups that are due. */
const AT_INTERVALS = ['probes', 'apiProcesses', 'notices', 'topUpRuns'];
/** Operations whose entry in the profile does not name the command. */
const WRITES = ['insert', 'update', 'remove'];
/** Requests that are repeated while nothing happens. */
const REPEATED = /^(?:Poll|Describe)/;
const WARM_UP = 5;
const CALLS = 20;
/** Marks the connections of this test for the profiler. */
const APP_NAME = 'callCost';

type Counts = Record<string, number>;

function count(names: Iterable<string>): Counts {
  const counts: Counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** The median of each count over all calls, where it is not 0. */
function medians(calls: readonly Counts[]): Counts {
  const names = new Set(calls.flatMap((counts) => Object.keys(counts)));
  const median = (name: string) =>
    calls.map((counts) => counts[name] ?? 0).toSorted((a, b) => a - b)[Math.floor(calls.length / 2)] ?? 0;
  return Object.fromEntries(
    [...names].map((name) => [name, median(name)] as const).filter(([, it]) => it > 0),
  );
}

const open = new AsyncDisposableStack();
let collector: Collector;
let proxy: TemporalProxy;
let stack: Stack;

test.before(async (t) => {
  t.timeout(180_000);
  const { temporalAddress, stop } = await startNamespace();
  open.defer(stop);
  proxy = open.adopt(await startTemporalProxy(temporalAddress), (it) => it.close());
  collector = open.adopt(await startCollector(), (it) => it.close());
  const env = {
    RATE_LIMIT: '1000:2000',
    TEMPORAL_ADDRESS: proxy.address,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  };
  stack = await startStack({ pools: ['orchestrator', 'cpu'], env });
});
test.after.always(async () => {
  await stack?.stop();
  await open.disposeAsync();
});

test('a warm call sends no more commands, requests and spans than are listed here', async (t) => {
  const account = await makeAccount(stack, 1000);
  const store = open.adopt(await openStore(`${stack.mongodbUri}&appName=${APP_NAME}`), (it) => it.close());
  const profile = store.db.collection('system.profile');
  const traces: string[] = [];
  const commands: Counts[] = [];
  const requests: Counts[] = [];

  /** Makes a call and waits until nothing remains to be done for it. */
  async function call(index: number): Promise<void> {
    const trace = randomBytes(16).toString('hex');
    const traceparent = `00-${trace}-${randomBytes(8).toString('hex')}-01`;
    const response = await account.call('hash-text', { text: `call ${index}` }, { traceparent });
    t.is(response.status, 200, await response.text());
    traces.push(trace);
    const { accountId } = account;
    await until('the journal is copied and the response recorded', async () => {
      const row = await store.calls.findOne({ accountId }, { sort: { startedAt: -1 } });
      return (
        row?.state === 'charged' &&
        row.pendingAnswer === undefined &&
        (await store.accounts.findOne({ _id: accountId, journal: { $size: 0 } })) !== null
      );
    });
  }

  for (let index = 0; index < WARM_UP; index++) await call(index);
  await store.db.command({ profile: 2 });
  try {
    for (let index = 0; index < CALLS; index++) {
      const { localTime: since } = await store.db.command({ hello: 1 });
      const sent = new Map(proxy.counts);
      await call(index);
      const rows = await profile.find({ ts: { $gt: since }, appName: { $ne: APP_NAME } }).toArray();
      commands.push(
        count(
          rows.flatMap(({ op, ns, command }) => {
            const collection = String(ns).split('.').slice(1).join('.');
            const name = WRITES.includes(op) || !isRecord(command) ? op : Object.keys(command)[0];
            const isDurable = name === 'findAndModify' && recordAt(command, 'writeConcern').w === 'majority';
            return AT_INTERVALS.includes(collection)
              ? []
              : [`${isDurable ? 'durable ' : ''}${name} ${collection}`];
          }),
        ),
      );
      const more = [...proxy.counts].map(([name, times]) => [name, times - (sent.get(name) ?? 0)] as const);
      requests.push(Object.fromEntries(more.filter(([name]) => !REPEATED.test(name))));
    }
  } finally {
    await store.db.command({ profile: 0 });
  }
  // The processes send their last spans when they stop.
  await stack.stop();
  const spans = traces
    .slice(WARM_UP)
    .map((trace) =>
      count(
        collector.spans
          .filter(({ traceId }) => traceId === trace)
          .map(({ service, name }) => `${service.replace('utility-tools-', '')} ${name}`),
      ),
    );
  t.deepEqual(medians(commands), COMMANDS);
  t.deepEqual(medians(requests), REQUESTS);
  t.deepEqual(medians(spans), SPANS);
});
