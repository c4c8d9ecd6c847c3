import type Router from '@koa/router';
import { createCallContents } from '../../store/calls/callContents.ts';
import { createCalls } from '../../store/calls/calls.ts';
import { createPendingAnswers } from '../../store/calls/pendingAnswers.ts';
import { createResults, deleteStored, mongodbPieces } from '../../store/calls/results.ts';
import { createReusableResults } from '../../store/calls/reusableResults.ts';
import type { Files } from '../../store/files/files.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import { untilStoreAnswers } from '../../store/mongo/connectStore.ts';
import { openLease } from '../../store/mongo/lease.ts';
import { createAuthenticate } from '../auth/authenticate.ts';
import type { ApiCore } from '../core.ts';
import type { Uploads } from '../files/uploads.ts';
import type { State } from '../http/context.ts';
import { sampleClients } from '../http/sampleClients.ts';
import { createUploadLimit } from '../http/uploadLimit.ts';
import type { InternalPort } from '../internalPort.ts';
import { createPaidCalls } from '../topUps/paidCalls.ts';
import type { TopUpService, Transport } from '../topUps/topUpService.ts';
import { createTimeoutLimit } from './admission.ts';
import { createCallWorkflow } from './callWorkflow.ts';
import { createFastLane } from './fastLane.ts';
import { createReplaySlots } from './replaySlots.ts';
import { createRetention } from './retention.ts';
import { createResultReuse } from './reuse.ts';
import { createToolCallService } from './run.ts';
import { toolRoutes } from './toolRoutes.ts';

type Services = Pick<InternalPort, 'outages' | 'vault' | 'vaultUrl'> & {
  topUpService: TopUpService | null;
  files: Files;
  fileUploads: Uploads;
};

/** Creates the calls of tools: the records of this process in MongoDB, and what runs a call. */
export async function createCallsArea(core: ApiCore, services: Services) {
  const { env, log, registry, store, client, keyring, accounts, apiKeys, apiMetrics, limits, open } = core;
  const { attention, onError, receiptKeys } = core;
  const { outages, vault, vaultUrl, topUpService, files, fileUploads } = services;
  const ledger = open.adopt(createLedger(store, onError), (it) => it.flush());
  const lease = open.adopt(await untilStoreAnswers(core, () => openLease(store, onError)), (it) =>
    it.release(),
  );
  sampleClients(core, lease.processId);
  const answers = open.adopt(createPendingAnswers(store, lease, onError), (it) => it.close());
  const onLeftOut = (calls: number) =>
    log.warn({ calls }, 'input and output of calls were not kept, because too many waited to be written');
  const contents = open.adopt(createCallContents(store, keyring, onError, onLeftOut), (it) => it.close());
  const onFault = (error: unknown) => log.warn({ err: error }, 'Temporal is unreachable; retrying');
  const workflow = createCallWorkflow(client, onFault, createFastLane(env.FAST_LANE_URLS, keyring));
  const replaySlots = createReplaySlots();
  const retention = open.adopt(createRetention({ workflow, store, limit: env.RATE_LIMIT, log }), (it) =>
    it.close(),
  );
  const results = createResults(mongodbPieces(store), keyring);
  const reusable = createReusableResults(store, results, env.RATE_LIMIT);
  const toolCallService = createToolCallService({
    registry,
    workflow,
    calls: createCalls(store),
    accounts,
    files,
    publicUrl: core.publicUrl,
    ledger,
    results,
    deleteInput: (reference) => deleteStored(store, reference),
    answers,
    paybacks: createPaybacks({ store, ledger, accounts }),
    contents,
    replaySlots,
    retention,
    reuse: createResultReuse({ reusable, keyring, replaySlots, log }),
    outages,
    timeouts: createTimeoutLimit(store, env.RATE_LIMIT, (error) =>
      log.warn({ err: error }, 'a call that ended at its time limit was not counted'),
    ),
    vault,
    keyring,
    receiptKeys,
    vaultUrl,
    limits: env,
    metrics: apiMetrics,
    attention,
    log,
  });
  const paidCallsOver = (transport: Transport) =>
    createPaidCalls({ toolCallService, accounts, topUpService, transport });
  const uploads = createUploadLimit();
  return {
    toolCallService,
    paidCallsOver,
    workflow,
    contents,
    replaySlots,
    uploads,
    routes: (router: Router<State>) =>
      toolRoutes(router, {
        registry,
        toolCallService,
        paidCalls: paidCallsOver('http'),
        outages,
        uploads,
        fileUploads,
        authenticate: createAuthenticate({ apiKeys, onFailure: limits.onFailure, attention }),
        attention,
        rateLimit: limits.rateLimit,
      }),
  };
}
