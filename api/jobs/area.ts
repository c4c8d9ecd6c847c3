import type Router from '@koa/router';
import { createGuard } from '../../egress/guard.ts';
import { createResolver } from '../../egress/resolver.ts';
import { allowHost } from '../../schemas/formats/allow.ts';
import { createResults, deleteStored, mongodbPieces } from '../../store/calls/results.ts';
import { createUnchargedCalls } from '../../store/calls/unchargedCalls.ts';
import type { Files } from '../../store/files/files.ts';
import { createCallbackSecrets } from '../../store/jobs/callbackSecrets.ts';
import { createJobs } from '../../store/jobs/jobs.ts';
import { createJobStorage } from '../../store/jobs/storedBytes.ts';
import { createAuthenticate } from '../auth/authenticate.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { CallWorkflow } from '../calls/callWorkflow.ts';
import type { ReplaySlots } from '../calls/replaySlots.ts';
import type { ToolCallService } from '../calls/run.ts';
import type { ApiCore } from '../core.ts';
import type { Uploads } from '../files/uploads.ts';
import type { State } from '../http/context.ts';
import { createServe } from '../http/operation.ts';
import type { UploadLimit } from '../http/uploadLimit.ts';
import { createResendLimit } from '../webhooks/resendLimit.ts';
import { jobRoutes } from './jobRoutes.ts';
import { createJobService } from './jobService.ts';
import { createJobWorkflow } from './jobWorkflow.ts';
import { createResendCallbacks } from './resendCallbacks.ts';

interface Services {
  toolCallService: ToolCallService;
  workflow: CallWorkflow;
  replaySlots: ReplaySlots;
  uploads: UploadLimit;
  sessions: Sessions;
  files: Files;
  fileUploads: Uploads;
}

/** Creates jobs: calls whose result waits in the store. */
export function createJobsArea(core: ApiCore, services: Services) {
  const { env, log, registry, store, client, keyring, apiKeys, limits, ports, publicUrl, onError } = core;
  const { toolCallService, workflow, replaySlots, uploads, sessions, files, fileUploads } = services;
  const { rateLimit, onFailure } = limits;
  const { attention } = core;
  const storage = createJobStorage(store, env.RATE_LIMIT);
  const jobWorkflow = createJobWorkflow(client, (error) =>
    log.warn({ err: error }, 'a request to the workflow of jobs failed; the sweeper will repeat it'),
  );
  const resendCallbacks = createResendCallbacks(createResendLimit(store, env.RATE_LIMIT), jobWorkflow);
  const egress = createGuard({
    resolver: createResolver({ servers: env.DNS_SERVERS }),
    allow: [allowHost('localhost', null), ...env.EGRESS_ALLOW],
    ownPorts: ports,
  });
  const jobService = createJobService({
    toolCallService,
    jobs: createJobs(store),
    resendCallbacks,
    files,
    storage,
    uncharged: createUnchargedCalls(store, env.RATE_LIMIT, (paused) =>
      log.warn(paused, 'too many calls without a charge; the account is paused'),
    ),
    results: createResults(mongodbPieces(store), keyring),
    deleteInput: (reference) => deleteStored(store, reference),
    replaySlots,
    workflow: jobWorkflow,
    calls: workflow,
    keyring,
    egress,
    limits: env,
    publicUrl,
    onError,
  });
  return {
    jobService,
    jobWorkflow,
    storage,
    egress,
    resendCallbacks,
    routes(router: Router<State>) {
      const authenticate = createAuthenticate({ apiKeys, onFailure, attention });
      const byOwner = createAuthenticate({
        apiKeys,
        onFailure,
        attention,
        session: sessions.callerFromSession,
      });
      jobRoutes(router, {
        registry,
        toolCallService,
        jobs: jobService,
        secrets: createCallbackSecrets(store, keyring),
        uploads,
        fileUploads,
        authenticate,
        rateLimit,
        serve: {
          tools: createServe(router, { authenticate, rateLimit }),
          account: createServe(router, { authenticate: byOwner, rateLimit }),
        },
      });
    },
  };
}

export type JobArea = ReturnType<typeof createJobsArea>;
