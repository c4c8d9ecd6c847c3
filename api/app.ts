import Router from '@koa/router';
import type { PayloadCodec } from '@temporalio/common';
import Koa from 'koa';
import type { Logger } from 'pino';
import type { Readiness } from '../platform/readiness.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import type { Env } from '../schemas/env.ts';
import { ServiceError } from '../schemas/errors.ts';
import type { Registry } from '../schemas/registry.ts';
import type { Accounts } from '../store/accounts/accounts.ts';
import { createBroadcasts } from '../store/accounts/broadcast.ts';
import { closeAccount } from '../store/accounts/closeAccount.ts';
import { leaseExport } from '../store/accounts/exportLease.ts';
import { createPasskeys } from '../store/accounts/passkeys.ts';
import { createSearch } from '../store/accounts/search.ts';
import { recordSecurity } from '../store/accounts/securityLog.ts';
import { readShares } from '../store/accounts/shares.ts';
import { liftSuspension, suspendAccount } from '../store/accounts/suspension.ts';
import type { Payments } from '../store/billing/payments.ts';
import { usageOf } from '../store/billing/usage.ts';
import type { CallContents } from '../store/calls/callContents.ts';
import type { ApiKeys } from '../store/keys/apiKeys.ts';
import { takeToken } from '../store/keys/buckets.ts';
import { createConnections } from '../store/keys/connections.ts';
import { createDeviceLogins } from '../store/keys/deviceLogins.ts';
import { auditAccount } from '../store/ledger/audit.ts';
import type { Lists } from '../store/mongo/lists.ts';
import type { Store } from '../store/mongo/mongo.ts';
import type { Incidents } from '../store/status/incidents.ts';
import { readSamples } from '../store/status/poolSamples.ts';
import { accountRoutes } from './account/accountRoutes.ts';
import {
  createChangeLimit,
  limitConnectionChanges,
  limitKeyChanges,
  limitWebhookChanges,
} from './account/changeLimit.ts';
import { createExportAccount } from './account/exportAccount.ts';
import { createKeys } from './account/keyService.ts';
import { createAttemptLimit } from './auth/attemptLimit.ts';
import type { Auth } from './auth/auth.ts';
import { createAuthenticate } from './auth/authenticate.ts';
import { authRoutes, createForwardToAuth } from './auth/authRoutes.ts';
import { createConfirmPassword } from './auth/confirmPassword.ts';
import { createDeviceLogin } from './auth/deviceLogin.ts';
import { deviceRoutes } from './auth/deviceRoutes.ts';
import { createFailureLimit } from './auth/failureLimit.ts';
import { createKnownDevices } from './auth/knownDevice.ts';
import { oauthRoutes } from './auth/oauthRoutes.ts';
import { createOauthServer } from './auth/oauthServer.ts';
import { createPasskeySteps } from './auth/passkeySteps.ts';
import { createSendToAuth } from './auth/sendToAuth.ts';
import { createSessions } from './auth/sessions.ts';
import { stripeRoutes } from './billing/stripeRoutes.ts';
import type { StripeService } from './billing/stripeService.ts';
import { type CallRunner, MAX_RUNNING } from './calls/callRunner.ts';
import type { Outages } from './calls/outages.ts';
import { createTimeoutLimit } from './calls/timeoutLimit.ts';
import { createToolCallService } from './calls/toolCallService.ts';
import { toolRoutes } from './calls/toolRoutes.ts';
import { createUploadPlaces } from './calls/uploadPlaces.ts';
import { dashboardRoutes } from './dashboard/dashboardRoutes.ts';
import { codecRoutes } from './http/codecRoutes.ts';
import { addressLimit, limitRequests } from './http/connectionLimit.ts';
import type { State } from './http/context.ts';
import type { ApiMetrics } from './http/metrics.ts';
import { createServe } from './http/operation.ts';
import { createPageLimit } from './http/pageLimit.ts';
import { problems } from './http/problem.ts';
import { createRateLimit } from './http/rateLimit.ts';
import { traceRequests } from './http/traceRequests.ts';
import type { Mails } from './mail/messages.ts';
import { mcpRoutes } from './mcp/mcpRoutes.ts';
import { createMcpServers } from './mcp/mcpServer.ts';
import { docsRoutes } from './openapi/docsRoutes.ts';
import { metaRoutes } from './openapi/metaRoutes.ts';
import { siteRoutes } from './site/siteRoutes.ts';
import type { Status } from './status/status.ts';
import { statusRoutes } from './status/statusRoutes.ts';
import { createTrialAccount } from './trial/trialAccount.ts';
import { createTrialLimit } from './trial/trialLimit.ts';
import { trialRoutes } from './trial/trialRoutes.ts';
import type { DispatchEvents } from './webhooks/startDispatch.ts';
import type { Webhooks } from './webhooks/webhookService.ts';

/** The dependencies of the API, which server.ts creates. */
export interface AppDependencies {
  env: Env;
  log: Logger;
  registry: Registry;
  store: Store;
  accounts: Accounts;
  apiKeys: ApiKeys;
  lists: Lists;
  contents: CallContents;
  payments: Payments;
  dispatchEvents: DispatchEvents;
  webhooks: Webhooks;
  /** The Stripe service; null if Stripe is not configured. */
  stripe: StripeService | null;
  runner: CallRunner;
  auth: Auth;
  mails: Mails;
  /** Returns the URL of the API: PUBLIC_URL, or the address on which the API listens, which is known from the first request on. */
  publicUrl(): string;
  /** Determines whether the API is ready, for `/readyz`. */
  readiness(): Promise<Readiness>;
  incidents: Incidents;
  /** Reads what the status page shows. */
  readStatus(): Promise<Status>;
  outages: Outages;
  metrics: ApiMetrics;
  keyring: Keyring;
  /** Codec that decrypts the payloads in Temporal. */
  codec: PayloadCodec;
}

/**
 * Responds with 405 and an `Allow` header if routes match the path but not the method. `allowedMethods` of
 * @koa/router cannot be used: it responds with 501 to unknown methods.
 */
function methodNotAllowed(router: Router<State>): Koa.Middleware<State> {
  return async (ctx, next) => {
    await next();
    if (ctx.status !== 404 || ctx.body !== undefined) return;
    const { path, route } = router.match(ctx.path, ctx.method);
    if (route || path.length === 0) return;
    ctx.set('Allow', [...new Set(path.flatMap((layer) => layer.methods))].join(', '));
    throw new ServiceError('method_not_allowed');
  };
}

/** Creates the Koa application of the HTTP API; it does not listen on a port. */
export function createApp(deps: AppDependencies): Koa<State> {
  const { env, log, registry, store, apiKeys, accounts, auth, mails, contents } = deps;
  const app = new Koa<State>({ proxy: env.TRUST_PROXY });
  const router = new Router<State>();
  const sessions = createSessions({ auth, accounts, env });
  const keyAuthentication = { apiKeys, accounts, onFailure: createFailureLimit(store, env.RATE_LIMIT) };
  const rateLimit = createRateLimit(store, env.RATE_LIMIT);

  const countChange = createChangeLimit(store, env.RATE_LIMIT);
  const ownersKeys = limitKeyChanges(apiKeys, countChange);
  const webhooks = limitWebhookChanges(deps.webhooks, countChange);
  const connections = limitConnectionChanges(createConnections(store), countChange);
  const sendToAuth = createSendToAuth(auth);
  const oauth = createOauthServer(sendToAuth, env.PUBLIC_URL);
  const attemptLimit = createAttemptLimit(store, env.RATE_LIMIT);
  const pageLimit = createPageLimit(env.RATE_LIMIT);

  metaRoutes(router, registry, env.PUBLIC_URL, deps.readiness);
  docsRoutes(router, env.PUBLIC_URL);
  siteRoutes(router, {
    registry,
    baseUrl: deps.publicUrl,
    freeCredits: env.FREE_CREDITS,
    // Without Stripe, production sells nothing.
    packs: deps.stripe === null && env.NODE_ENV === 'production' ? [] : env.CREDIT_PACKS,
    hasTrials: env.TRIAL_CREDITS > 0,
  });
  statusRoutes(router, { registry, baseUrl: deps.publicUrl, readStatus: deps.readStatus });
  const toolCallService = createToolCallService({
    registry,
    runner: deps.runner,
    metrics: deps.metrics,
    outages: deps.outages,
    accounts,
    contents,
    timeouts: createTimeoutLimit(store, env.RATE_LIMIT, (error) =>
      log.warn({ err: error }, 'a call that ended at its time limit was not counted'),
    ),
    maxRunning: env.RATE_LIMIT === null ? null : MAX_RUNNING,
  });
  if (env.TRIAL_CREDITS > 0)
    trialRoutes(router, {
      registry,
      toolCallService,
      outages: deps.outages,
      findAccount: createTrialAccount(accounts, env.TRIAL_CREDITS),
      limit: createTrialLimit(store, env.RATE_LIMIT),
      baseUrl: deps.publicUrl,
      publicUrl: env.PUBLIC_URL,
      log,
    });
  const uploads = createUploadPlaces();
  toolRoutes(router, {
    registry,
    toolCallService,
    outages: deps.outages,
    uploads,
    authenticate: createAuthenticate(keyAuthentication),
    rateLimit,
  });
  const { lists, dispatchEvents, payments, stripe, readiness } = deps;
  mcpRoutes(router, {
    registry,
    outages: deps.outages,
    uploads,
    publicUrl: env.PUBLIC_URL,
    oauth,
    authenticate: createAuthenticate({
      ...keyAuthentication,
      // Only this endpoint accepts access tokens; they have another form than keys.
      apiKeys: {
        ...apiKeys,
        authenticate: async (token) =>
          (await apiKeys.authenticate(token)) ?? (await connections.authenticate(token)),
      },
    }),
    createServer: createMcpServers({
      registry,
      lists,
      toolCallService,
      outages: deps.outages,
      rateLimit,
      log,
    }),
    onError: (error) => log.debug({ err: error }, 'MCP request refused'),
  });
  const serve = createServe(router, {
    authenticate: createAuthenticate({ ...keyAuthentication, session: sessions.callerFromSession }),
    rateLimit,
  });
  const keys = createKeys({ lists, apiKeys: ownersKeys, accounts, registry, dispatchEvents });
  accountRoutes(serve, { lists, keys, webhooks });
  const devices = createKnownDevices(deps.keyring, env);
  const forwardToAuth = createForwardToAuth(auth, attemptLimit, devices, mails.delivers);
  authRoutes(router, forwardToAuth, pageLimit);
  oauthRoutes(router, {
    oauth,
    connections,
    limit: attemptLimit,
    pageLimit,
    onFailure: keyAuthentication.onFailure,
  });
  const deviceLogin = createDeviceLogin({
    sendToAuth,
    logins: createDeviceLogins(store),
    apiKeys: ownersKeys,
    dispatchEvents,
    publicUrl: env.PUBLIC_URL,
  });
  deviceRoutes(router, {
    deviceLogin,
    apiKeys,
    dispatchEvents,
    authenticate: createAuthenticate(keyAuthentication),
    limit: attemptLimit,
    pageLimit,
    onFailure: keyAuthentication.onFailure,
  });
  dashboardRoutes(router, {
    forwardToAuth,
    passkeys: createPasskeys(store),
    passkeySteps: createPasskeySteps(forwardToAuth, attemptLimit, devices),
    confirmPassword: createConfirmPassword(auth, attemptLimit, devices),
    countMail: attemptLimit.countMail,
    pageLimit,
    auth,
    mails,
    sessions,
    accounts,
    registry,
    lists,
    search: createSearch(store),
    contents,
    payments,
    stripe,
    usageOf: (accountId, days) => usageOf(store, accountId, days),
    recordSecurity: (event) => recordSecurity(store, event),
    exportAccount: createExportAccount(store, auth, contents),
    leaseExport: (accountId, onLost) => leaseExport(store, accountId, onLost),
    closeAccount: (account) => closeAccount(store, account),
    keys,
    oauth,
    connections,
    deviceLogin,
    webhooks,
    toolCallService,
    dispatchEvents,
    incidents: deps.incidents,
    broadcasts: createBroadcasts(store),
    suspendAccount: (accountId, reason, operator) => suspendAccount(store, accountId, reason, operator),
    liftSuspension: (accountId, operator) => liftSuspension(store, accountId, operator),
    readShares: () => readShares(store),
    readSamples: () => readSamples(store, new Date()),
    readiness,
    rateLimit,
    takeToken: env.RATE_LIMIT === null ? null : (bucket, limit) => takeToken(store, bucket, limit),
    auditAccount: (accountId) => auditAccount(store, accountId),
    env,
    log,
  });
  if (stripe !== null) stripeRoutes(router, { stripe, payments, dispatchEvents, log });
  codecRoutes(router, { sessions, codec: deps.codec, env });

  if (env.OTEL_EXPORTER_OTLP_ENDPOINT !== null) app.use(traceRequests());
  app.use(problems(log, deps.metrics));
  const perAddress = addressLimit(env);
  if (env.TRUST_PROXY && perAddress !== null) app.use(limitRequests(perAddress));
  app.use(methodNotAllowed(router));
  app.use(router.routes());
  app.on('error', (error) => log.debug({ err: error }, 'connection error'));
  return app;
}
