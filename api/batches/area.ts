import type Router from '@koa/router';
import { MAX_RESENT } from '../../schemas/batches.ts';
import { listCallbacks, sendableCallbacks } from '../../store/batches/batchCallbacks.ts';
import { createBatches } from '../../store/batches/batches.ts';
import { createBatchRows } from '../../store/batches/batchRows.ts';
import { cancelWaiting, countEnded } from '../../store/batches/countEnded.ts';
import { createRowInputs } from '../../store/batches/rowInputs.ts';
import { createRowOutputs } from '../../store/batches/rowOutputs.ts';
import { createResults, mongodbPieces } from '../../store/calls/results.ts';
import type { Files } from '../../store/files/files.ts';
import { createAuthenticate } from '../auth/authenticate.ts';
import type { ToolCallService } from '../calls/run.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { createServe } from '../http/operation.ts';
import { createTransferLimit } from '../http/transferLimit.ts';
import type { JobArea } from '../jobs/area.ts';
import { batchRoutes } from './batchRoutes.ts';
import { createBatchService } from './batchService.ts';
import { createCheckRows } from './checkRows.ts';
import { createBatchDownloads } from './downloadRoutes.ts';
import { createBatchEvents } from './eventRoutes.ts';

interface Services extends Pick<JobArea, 'jobWorkflow' | 'storage' | 'egress' | 'resendCallbacks'> {
  toolCallService: ToolCallService;
  files: Files;
}

/** Milliseconds for which a request cancels rows; the queue of the account cancels the others. */
const CANCEL_MS = 8000;
/** Bodies of an account that a process receives at the same time, and how long further ones wait. */
const UPLOADS = { most: 2, waitMs: 10_000, what: 'batches of an account are received' } as const;

/** Creates batches: many calls in one request. */
export function createBatchesArea(core: ApiCore, services: Services) {
  const { env, registry, store, keyring, apiKeys, limits, publicUrl, onError, attention, stopping } = core;
  const { toolCallService, jobWorkflow, storage, egress, resendCallbacks, files } = services;
  const { rateLimit, onFailure } = limits;
  const inputs = createRowInputs(store, createResults(mongodbPieces(store), keyring), keyring);
  const batchService = createBatchService({
    batches: createBatches(store, jobWorkflow.startCallback),
    rows: createBatchRows(store),
    checkRows: createCheckRows({ registry, toolCallService, inputs, files, keyring, limits: env }),
    toolCallService,
    storage,
    count: (batchId) => countEnded(store, batchId),
    cancelWaiting: (batch) => cancelWaiting(store, batch, Date.now() + CANCEL_MS),
    workflow: jobWorkflow,
    callbacks: sendableCallbacks(store, MAX_RESENT),
    resendCallbacks,
    keyring,
    egress,
    publicUrl,
    onError,
  });
  const outputs = createRowOutputs(store, keyring);
  const batchUploads = createTransferLimit(UPLOADS);
  const batchDownloads = createBatchDownloads({ registry, batches: batchService, outputs });
  const batchEvents = createBatchEvents({ batches: batchService, stopping });
  return {
    batchService,
    batchUploads,
    batchDownloads,
    batchEvents,
    rowOutputs: outputs,
    routes(router: Router<State>) {
      const authenticate = createAuthenticate({ apiKeys, onFailure, attention });
      batchRoutes(router, {
        registry,
        batches: batchService,
        uploads: batchUploads,
        downloads: batchDownloads,
        events: batchEvents,
        listCallbacks: (batchId, page) => listCallbacks(store, batchId, page),
        authenticate,
        rateLimit,
        serve: createServe(router, { authenticate, rateLimit }),
      });
    },
  };
}

export type BatchesArea = ReturnType<typeof createBatchesArea>;
