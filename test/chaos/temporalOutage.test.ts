import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { createCallWorkflow } from '../../api/calls/callWorkflow.ts';
import { createReplaySlots } from '../../api/calls/replaySlots.ts';
import { createRetention } from '../../api/calls/retention.ts';
import { createToolCallService } from '../../api/calls/run.ts';
import type { ToolCall } from '../../api/calls/toolCall.ts';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { createVault } from '../../platform/secrets/vault.ts';
import { createBackgroundDispatch } from '../../platform/temporal/startDispatch.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { readEnv } from '../../schemas/env.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createCalls } from '../../store/calls/calls.ts';
import { createPendingAnswers } from '../../store/calls/pendingAnswers.ts';
import { createResults, deleteStored, mongodbPieces } from '../../store/calls/results.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import { openLease } from '../../store/mongo/lease.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { openReceiptKeys } from '../../store/receipts/receiptKeys.ts';
import { workflowIds } from '../../workflows/contract.ts';
import { makeAccount } from '../helpers/account.ts';
import { listen } from '../helpers/egress.ts';
import { accountOf, auditWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { startToxiproxy } from '../helpers/toxiproxy.ts';
import { until } from '../helpers/until.ts';

/**
 * Milliseconds for which the connection to Temporal stays cut after a call was given up: much longer than the API's
 * minimum retry interval.
 */
const OUTAGE_MS = 5000;
const WORK_MS = 5000;
const POOL_WAIT = 1000;
const CREDITS = 100;

/** Creates the calls of this process, which reach Temporal at the given address; the stack's API is not used. */
async function openCalls(
  t: ExecutionContext,
  open: AsyncDisposableStack,
  stack: Stack,
  temporalAddress: string,
) {
  const env = readEnv(stack.env);
  const keyring = loadKeyring(env);
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const connect = async (it: typeof env) =>
    open.adopt(await connectClient(it, keyring, false), ({ connection }) => connection.close());
  const operator = await connect(env);
  const client = await connect({ ...env, TEMPORAL_ADDRESS: temporalAddress });
  store.onEvents(createBackgroundDispatch(client, (error) => t.fail(String(error))));
  const ledger = open.adopt(
    createLedger(store, (error) => t.fail(String(error))),
    (it) => it.flush(),
  );
  const lease = open.adopt(await openLease(store, (error) => t.fail(String(error))), (it) => it.release());
  let givenUp = 0;
  const log = pino({}, { write: (line) => (givenUp += Number(line.includes('a call has no result'))) });
  const workflow = createCallWorkflow(client, (error) => log.warn(error));
  const accounts = createAccounts(store);
  const toolCallService = createToolCallService({
    attention: { spending: () => undefined },
    replaySlots: createReplaySlots(),
    registry: await loadRegistry(),
    workflow,
    accounts,
    files: { reference: async () => null },
    publicUrl: () => 'http://localhost',
    contents: { keep: () => Promise.resolve() },
    timeouts: { check: () => undefined, count: () => undefined },
    metrics: { call: () => undefined },
    calls: createCalls(store),
    ledger,
    results: createResults(mongodbPieces(store), keyring),
    deleteInput: (reference) => deleteStored(store, reference),
    retention: createRetention({ workflow, store, limit: null, log: pino({ level: 'silent' }) }),
    reuse: { find: async () => null, keep: async () => undefined },
    answers: open.adopt(
      createPendingAnswers(store, lease, (error) => t.fail(String(error))),
      (it) => it.close(),
    ),
    paybacks: createPaybacks({ store, ledger, accounts }),
    outages: { refuse: () => undefined, nextOutage: () => new AbortController().signal },
    vault: createVault(keyring),
    keyring,
    receiptKeys: await openReceiptKeys(store, keyring),
    vaultUrl: 'http://127.0.0.1:1',
    limits: { RATE_LIMIT: null, POOL_WAIT, CALLS_PER_POOL: 128 },
    log,
  });
  const run = async (accountId: string, call: Pick<ToolCall, 'tool' | 'input' | 'requestId'>) => {
    const account = await accounts.find(accountId);
    if (account === null) throw new Error('no account');
    return toolCallService.run({
      ...call,
      caller: { account, key: null },
      idempotencyKey: null,
      max: Number.POSITIVE_INFINITY,
      arrivedAt: performance.now(),
      hangup: new AbortController().signal,
    });
  };
  return { run, store, operator, givenUp: () => givenUp };
}

test('calls that are charged while the API is cut off from Temporal return their result or are refunded', async (t) => {
  t.timeout(180_000);
  await using open = new AsyncDisposableStack();
  const asked = new Map(['/told', '/lost'].map((path) => [path, Promise.withResolvers<ServerResponse>()]));
  const target = createServer(({ url = '' }, response) => asked.get(url)?.resolve(response));
  open.defer(() => {
    target.closeAllConnections();
    target.close();
  });
  const origin = `127.0.0.1:${await listen(target)}`;
  const stack = open.adopt(
    await startStack({ pools: ['orchestrator', 'network'], env: { EGRESS_ALLOW: origin } }),
    (it) => it.stop(),
  );
  const { links } = open.adopt(
    await startToxiproxy({ temporal: stack.temporalAddress }, (line) => t.log(line)),
    (it) => it.stop(),
  );
  const { run, store, operator, givenUp } = await openCalls(t, open, stack, links.temporal.address);
  const account = await makeAccount(stack, CREDITS);
  const standard = (await loadRegistry()).get('http-request');
  if (standard === undefined) throw new Error('no http-request');
  const tool = { ...standard, limits: { workMs: WORK_MS } };
  const ask = (path: string) =>
    run(account.accountId, {
      tool,
      input: { url: `http://${origin}${path}`, method: 'GET' },
      requestId: path,
    });

  const answers = [...asked.keys()].map(ask);
  const responses = await Promise.all([...asked.values()].map(({ promise }) => promise));
  await links.temporal.cut();
  for (const response of responses) response.end('here it is');

  const [lost] = (await callsOf(store, account.accountId)).filter(({ requestId }) => requestId === '/lost');
  const workflowExecution = { workflowId: lost?._id ?? '' };
  await operator.workflow.getHandle(workflowExecution.workflowId).result();
  const { namespace } = operator.options;
  await operator.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });

  await until('the API gives up both calls', async () => givenUp() === answers.length);
  await sleep(OUTAGE_MS);
  await links.temporal.heal();
  const healed = performance.now();
  const endings = (await Promise.all(answers)).map(({ ending }) => ending);
  t.log(`answered ${Math.round(performance.now() - healed)} ms after the connection was restored`);
  const [first, second] = endings;
  t.true(first !== undefined && 'output' in first, JSON.stringify(first));
  t.true(second !== undefined && 'error' in second && second.error.code === 'deadline_exceeded');
  const rows = await callsOf(store, account.accountId);
  t.deepEqual(
    rows.map(({ state }) => state),
    ['charged', 'charged'],
  );
  t.deepEqual(await auditWhenIdle(store), []);
  t.is(
    (await accountOf(store, account.accountId)).balance,
    CREDITS - tool.price,
    'charges without a result were refunded',
  );
});

test('a call whose workflow cannot be started yet is not ended by the sweeper', async (t) => {
  t.timeout(120_000);
  await using open = new AsyncDisposableStack();
  const stack = open.adopt(await startStack({ pools: ['orchestrator', 'cpu'] }), (it) => it.stop());
  const { links } = open.adopt(
    await startToxiproxy({ temporal: stack.temporalAddress }, (line) => t.log(line)),
    (it) => it.stop(),
  );
  const { run, store, operator } = await openCalls(t, open, stack, links.temporal.address);
  const account = await makeAccount(stack, CREDITS);
  const tool = (await loadRegistry()).get('hash-text');
  if (tool === undefined) throw new Error('no hash-text');

  await links.temporal.cut();
  const input = { text: 'abc', algorithm: 'sha256' };
  const answer = run(account.accountId, { tool, input, requestId: 'cut off' });
  const callOfAccount = async () => (await callsOf(store, account.accountId))[0];
  const call = await until('the call is accepted', async () => (await callOfAccount()) ?? null);
  // The sweeper ends calls without a workflow that were not marked for 25 s.
  const marked = new Date(Date.now() - 15_000);
  await store.calls.updateOne({ _id: call._id }, { $set: { touchedAt: marked } });
  await until('the call is marked again', async () => ((await callOfAccount())?.touchedAt ?? 0) > marked);
  await t.throwsAsync(operator.workflow.getHandle(workflowIds.call(call._id)).describe(), {
    instanceOf: WorkflowNotFoundError,
  });
  await links.temporal.heal();
  const { ending } = await answer;
  t.true('output' in ending, JSON.stringify(ending));
  t.deepEqual(await auditWhenIdle(store), []);
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - tool.price);
});
