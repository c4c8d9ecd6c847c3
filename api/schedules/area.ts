import type Router from '@koa/router';
import { createScheduleClock } from '../../platform/temporal/scheduleClock.ts';
import { MAX_RESENT } from '../../schemas/batches.ts';
import { listScheduleCallbacks, sendableScheduleCallbacks } from '../../store/schedules/scheduleCallbacks.ts';
import { createScheduleRuns } from '../../store/schedules/scheduleRuns.ts';
import { createSchedules } from '../../store/schedules/schedules.ts';
import { createAuthenticate } from '../auth/authenticate.ts';
import type { ToolCallService } from '../calls/run.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { createServe } from '../http/operation.ts';
import type { UploadLimit } from '../http/uploadLimit.ts';
import type { JobArea } from '../jobs/area.ts';
import { createCheckTarget } from './checkTarget.ts';
import { createScheduleLimits } from './scheduleLimits.ts';
import { scheduleRoutes } from './scheduleRoutes.ts';
import { createScheduleService } from './scheduleService.ts';
import { createAdvance } from './scheduleWorkflow.ts';

type Services = Pick<JobArea, 'egress' | 'resendCallbacks'> & {
  toolCallService: ToolCallService;
  uploads: UploadLimit;
};

/** Creates schedules: jobs and batches that repeat. */
export function createSchedulesArea(
  core: ApiCore,
  { toolCallService, uploads, egress, resendCallbacks }: Services,
) {
  const { env, log, registry, store, client, keyring, apiKeys, limits, publicUrl, attention } = core;
  const { rateLimit, onFailure } = limits;
  const warn = (error: unknown) =>
    log.warn({ err: error }, 'a request about a schedule failed; the sweeper will repeat it');
  const scheduleService = createScheduleService({
    registry,
    toolCallService,
    checkTarget: createCheckTarget({ registry, toolCallService }),
    schedules: createSchedules(store),
    runs: createScheduleRuns(store),
    clock: createScheduleClock(client),
    limits: createScheduleLimits(store, env.RATE_LIMIT),
    advance: createAdvance(client, warn),
    keyring,
    callbacks: sendableScheduleCallbacks(store, keyring, MAX_RESENT),
    resendCallbacks,
    egress,
    publicUrl,
    onError: warn,
  });
  return {
    scheduleService,
    routes(router: Router<State>) {
      const authenticate = createAuthenticate({ apiKeys, onFailure, attention });
      scheduleRoutes(router, {
        schedules: scheduleService,
        listCallbacks: (scheduleId, page) => listScheduleCallbacks(store, scheduleId, page),
        uploads,
        authenticate,
        rateLimit,
        serve: createServe(router, { authenticate, rateLimit }),
      });
    },
  };
}
