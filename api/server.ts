import { once } from 'node:events';
import { createGuard } from '../egress/guard.ts';
import { ownPorts } from '../egress/own.ts';
import { createResolver } from '../egress/resolver.ts';
import { pollerChecks, queuesOf, temporalCheck } from '../platform/healthChecks.ts';
import { createInternalServer } from '../platform/internalServer.ts';
import { drain, listen } from '../platform/listen.ts';
import { createLog } from '../platform/log.ts';
import { createRegistry, observeReadiness } from '../platform/metricsRegistry.ts';
import { createReadiness } from '../platform/readiness.ts';
import { addReservedPorts } from '../platform/reservedPorts.ts';
import { runMain } from '../platform/runMain.ts';
import { loadKeyring } from '../platform/secrets/keyring.ts';
import { createVault } from '../platform/secrets/vault.ts';
import { stopSignal } from '../platform/stopSignal.ts';
import { createCodec } from '../platform/temporal/codec.ts';
import { connectClient } from '../platform/temporal/temporal.ts';
import { startTracing } from '../platform/tracing.ts';
import { EnvError, readEnv } from '../schemas/env.ts';
import { allowHost } from '../schemas/formats/allow.ts';
import { loadRegistry } from '../schemas/registry.ts';
import { createAccounts } from '../store/accounts/accounts.ts';
import { createPayments } from '../store/billing/payments.ts';
import { createCallContents } from '../store/calls/callContents.ts';
import { createCalls } from '../store/calls/calls.ts';
import { createPendingAnswers } from '../store/calls/pendingAnswers.ts';
import { createResults, deleteStored, mongodbPieces } from '../store/calls/results.ts';
import { createApiKeys } from '../store/keys/apiKeys.ts';
import { takeToken } from '../store/keys/buckets.ts';
import { ensureResource } from '../store/keys/connections.ts';
import { createLedger } from '../store/ledger/ledger.ts';
import { createUndelivered } from '../store/ledger/undelivered.ts';
import { ensureIndexes } from '../store/mongo/indexes.ts';
import { openLease } from '../store/mongo/lease.ts';
import { createLists } from '../store/mongo/lists.ts';
import { openStore } from '../store/mongo/mongo.ts';
import { mongodbCheck } from '../store/mongo/probe.ts';
import { assertMasterKeys } from '../store/secrets/masterKeys.ts';
import { createIncidents } from '../store/status/incidents.ts';
import { recordMinute } from '../store/status/statusDays.ts';
import { createDeliveryAttempts } from '../store/webhooks/deliveryAttempts.ts';
import { createWebhookEndpoints } from '../store/webhooks/webhookEndpoints.ts';
import { createApp } from './app.ts';
import { createAuth } from './auth/auth.ts';
import { openStripe } from './billing/openStripe.ts';
import { createCallRunner } from './calls/callRunner.ts';
import { createKeptResults } from './calls/keptResults.ts';
import { watchOutages } from './calls/outages.ts';
import { createUncharged } from './calls/uncharged.ts';
import { addressLimit } from './http/connectionLimit.ts';
import { createApiMetrics } from './http/metrics.ts';
import { createPublicServer } from './http/publicServer.ts';
import { createMailer } from './mail/mailer.ts';
import { createMails } from './mail/messages.ts';
import { startNotices } from './mail/notices.ts';
import { startMonitor } from './status/monitor.ts';
import { createReadStatus } from './status/readStatus.ts';
import { samplePools } from './status/samplePools.ts';
import { isAnswering, statesOf } from './status/statusChecks.ts';
import { createEndpointWorkflow } from './webhooks/endpointWorkflow.ts';
import { createDispatchEvents } from './webhooks/startDispatch.ts';
import { createWebhooks } from './webhooks/webhookService.ts';

/**
 * Runs the API process: connects to MongoDB and Temporal, listens, and reports readiness to the parent process. On a
 * signal it stops accepting requests, finishes the running ones and exits.
 */
async function main(): Promise<void> {
  const env = readEnv();
  const registry = await loadRegistry();
  const log = createLog(env, 'api', registry);
  const onError = (error: unknown) => log.error({ err: error }, 'a background operation failed');
  const stopped = once(stopSignal(), 'abort');

  await using open = new AsyncDisposableStack();
  const tracing = await startTracing(env, 'api', log);
  open.defer(() => tracing.stop());
  const keyring = loadKeyring(env);
  if (env.MONGODB_URI === null) throw new EnvError('MONGODB_URI: not set');
  const isTraced = env.OTEL_EXPORTER_OTLP_ENDPOINT !== null;
  const store = open.adopt(await openStore(env.MONGODB_URI, undefined, isTraced), (it) => it.close());
  await assertMasterKeys(store, keyring);
  await ensureIndexes(store);
  await ensureResource(store);
  const client = await connectClient(env, keyring, false);
  open.defer(() => client.connection.close());
  const ledger = open.adopt(createLedger(store, onError), (it) => it.flush());
  const lease = open.adopt(await openLease(store, onError), (it) => it.release());
  const answers = open.adopt(createPendingAnswers(store, lease, onError), (it) => it.close());
  const onLeftOut = (calls: number) =>
    log.warn({ calls }, 'input and output of calls were not kept, because too many waited to be written');
  const contents = open.adopt(createCallContents(store, keyring, onError, onLeftOut), (it) => it.close());
  const apiKeys = open.adopt(createApiKeys(store, onError), (it) => it.flush());
  const vault = createVault(keyring);
  const metrics = createRegistry('api');
  const apiMetrics = createApiMetrics(metrics);
  const mailer = open.adopt(createMailer({ env, log, metrics: apiMetrics }), (it) => it.settled());

  const queues = queuesOf(registry);
  const servers = { ...mongodbCheck(store), ...temporalCheck(client) };
  const checks = { ...servers, ...pollerChecks(client, queues) };
  const readiness = createReadiness(checks);
  observeReadiness(metrics, readiness);
  const outages = open.adopt(watchOutages(servers, log), (it) => it.stop());
  const internal = open.adopt(
    createInternalServer({ readiness, vault, metrics: () => metrics.metrics() }),
    drain,
  );
  const internalUrl = await listen(internal, env.HOST, env.INTERNAL_PORT);
  const accounts = createAccounts(store);
  const dispatchEvents = createDispatchEvents(client, (error) =>
    log.warn({ err: error }, 'could not dispatch events; the sweeper will retry'),
  );
  const lists = createLists(store);
  const incidents = createIncidents(store);
  // If PUBLIC_URL is unset, this is set after `listen`, when the port is known.
  let publicUrl = env.PUBLIC_URL ?? '';
  const mails = createMails(mailer, () => publicUrl);
  // The port of the public server is added after `listen`, because PORT can be 0.
  const reservedPorts = [...ownPorts(env), Number(new URL(internalUrl).port)];
  addReservedPorts(reservedPorts);
  const resolver = createResolver({ servers: env.DNS_SERVERS });
  const app = createApp({
    env,
    log,
    registry,
    store,
    accounts,
    apiKeys,
    lists,
    contents,
    payments: createPayments(store, accounts),
    stripe: await openStripe(env, log),
    dispatchEvents,
    webhooks: createWebhooks({
      endpoints: createWebhookEndpoints(store, keyring),
      attempts: createDeliveryAttempts(store),
      lists,
      workflow: createEndpointWorkflow(client),
      egress: createGuard({
        resolver,
        allow: [allowHost('localhost', null), ...env.EGRESS_ALLOW],
        ownPorts: reservedPorts,
      }),
      takeToken: env.RATE_LIMIT === null ? null : (bucket, limit) => takeToken(store, bucket, limit),
      onError,
    }),
    publicUrl: () => publicUrl,
    readiness,
    incidents,
    readStatus: createReadStatus({
      store,
      incidents,
      readiness,
      onError: (error) => log.warn({ err: error }, 'could not read the history of the status page'),
    }),
    outages,
    metrics: apiMetrics,
    mails,
    auth: createAuth({ env, store, accounts, keyring, mails, log }),
    keyring,
    codec: createCodec(keyring),
    runner: createCallRunner({
      client,
      calls: createCalls(store),
      ledger,
      results: createResults(mongodbPieces(store), keyring),
      deleteInput: (reference) => deleteStored(store, reference),
      keptResults: createKeptResults(store, env.RATE_LIMIT, log),
      uncharged: createUncharged({ client, store, limit: env.RATE_LIMIT, log }),
      dispatchEvents,
      answers,
      undelivered: createUndelivered({ store, ledger, accounts }),
      outages,
      vault,
      keyring,
      vaultUrl: env.INTERNAL_ADVERTISE ?? internalUrl,
      limits: env,
      log,
    }),
  });
  const server = open.adopt(
    createPublicServer(app.callback(), { perAddress: env.TRUST_PROXY ? null : addressLimit(env) }),
    drain,
  );
  const baseUrl = await listen(server, env.HOST, env.PORT);
  reservedPorts.push(Number(new URL(baseUrl).port));
  if (publicUrl === '') publicUrl = baseUrl;
  const monitor = startMonitor({
    async check() {
      const [ready, isUp] = await Promise.all([readiness(), isAnswering(baseUrl)]);
      return { ...statesOf(ready), api: isUp ? 'ok' : 'failed' };
    },
    async record(minute, states) {
      if (!(await recordMinute(store, minute, states))) return;
      await incidents.advance(minute, states);
      // Samples are not repeated, because they would show the state of a later minute.
      if (states.temporal === 'ok') await samplePools({ store, client, queues }, minute).catch(onError);
    },
    log,
  });
  open.adopt(monitor, (it) => it.stop());
  open.adopt(startNotices({ store, accounts, mails, log }), (it) => it.stop());
  log.info({ baseUrl, internalUrl }, 'listening');
  process.send?.({ type: 'ready', baseUrl, internalUrl });
  await stopped;
  log.info('draining');
}

await runMain(main);
