import type Router from '@koa/router';
import { ServiceError } from '../../schemas/errors.ts';
import {
  backfillSchedule,
  createSchedule,
  deleteSchedule,
  getSchedule,
  listScheduleCallbacks,
  listScheduleRuns,
  listSchedules,
  MAX_SCHEDULE_BYTES,
  type NewScheduleBody,
  newScheduleBody,
  resendScheduleCallbacks,
  type ScheduleChangeBody,
  scheduleChangeBody,
  triggerSchedule,
} from '../../schemas/schedules.ts';
import { callbackRow } from '../../store/batches/batchCallbacks.ts';
import type { Page, PageRequest } from '../../store/mongo/pages.ts';
import type { ScheduleCallbackDoc } from '../../store/schedules/scheduleDocs.ts';
import { idempotencyKey } from '../calls/toolCall.ts';
import { readJson } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import type { Serve } from '../http/operation.ts';
import type { TakeTokens } from '../http/rateLimit.ts';
import type { UploadLimit } from '../http/uploadLimit.ts';
import { createValidator } from '../http/validator.ts';
import type { ScheduleService } from './scheduleService.ts';

interface Dependencies {
  schedules: ScheduleService;
  listCallbacks(scheduleId: string, page: PageRequest): Promise<Page<ScheduleCallbackDoc>>;
  uploads: UploadLimit;
  /** Authenticates by API key. */
  authenticate(ctx: Context): Promise<void>;
  rateLimit: TakeTokens;
  serve: Serve;
}

const PATH = createSchedule.path;

/** Registers the operations of schedules. */
export function scheduleRoutes(router: Router<State>, deps: Dependencies): void {
  const { schedules, uploads, authenticate, rateLimit, serve } = deps;
  const compile = createValidator();
  const validateNew = compile<NewScheduleBody>(newScheduleBody);
  const validateChange = compile<ScheduleChangeBody>(scheduleChangeBody);

  async function authorize(ctx: Context): Promise<void> {
    await authenticate(ctx);
    ctx.set('Cache-Control', 'no-store');
    await rateLimit(ctx, () => {
      if (ctx.state.caller.key?.scope !== createSchedule.auth) throw new ServiceError('insufficient_scope');
    });
  }

  /** Reads a body, which may be larger than those of other operations. */
  async function read(ctx: Context): Promise<Record<string, unknown>> {
    using _slot = await uploads.acquire(ctx.state.caller.account._id, ctx.req);
    return await readJson(ctx, MAX_SCHEDULE_BYTES);
  }

  router.post(PATH, async (ctx) => {
    await authorize(ctx);
    const { caller, requestId } = ctx.state;
    const key = idempotencyKey(ctx);
    const body = validateNew(await read(ctx));
    const { row, isReplay } = await schedules.create({ caller, requestId, idempotencyKey: key, body });
    ctx.status = createSchedule.success.status;
    ctx.set('Location', `${PATH}/${row.id}`);
    if (isReplay) ctx.set('Idempotent-Replayed', 'true');
    ctx.body = row;
  });

  router.patch(`${PATH}/:id`, async (ctx) => {
    await authorize(ctx);
    const body = validateChange(await read(ctx));
    ctx.body = await schedules.change(ctx.state.caller, ctx.params.id ?? '', body);
  });

  router.post(`${PATH}/:id/trigger`, async (ctx) => {
    await authorize(ctx);
    const key = idempotencyKey(ctx);
    const { row, isReplay } = await schedules.trigger(ctx.state.caller, ctx.params.id ?? '', key);
    ctx.status = triggerSchedule.success.status;
    if (isReplay) ctx.set('Idempotent-Replayed', 'true');
    ctx.body = row;
  });

  serve(listSchedules, ({ caller, query }) => schedules.list(caller, query));
  serve(getSchedule, ({ caller, id }) => schedules.get(caller, id));
  serve(deleteSchedule, async ({ caller, id }) => {
    await schedules.remove(caller, id);
    return undefined;
  });
  serve(listScheduleRuns, ({ caller, id, query }) => schedules.runs(caller, id, query));
  serve(backfillSchedule, ({ caller, id, body: { from, to } }) =>
    schedules.backfill(caller, id, new Date(from), new Date(to)),
  );
  serve(resendScheduleCallbacks, async ({ caller, id, body }) => ({
    queued: await schedules.resendCallbacks(caller, id, body.callbackIds),
  }));
  serve(listScheduleCallbacks, async ({ caller, id, query }) => {
    await schedules.find(caller, id);
    const { items, nextCursor } = await deps.listCallbacks(id, query);
    return { items: items.map(callbackRow), nextCursor };
  });
}
