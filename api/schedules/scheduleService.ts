import { randomUUID } from 'node:crypto';
import { ScheduleNotFoundError } from '@temporalio/client';
import canonicalize from 'canonicalize';
import pMap from 'p-map';
import type { Guard } from '../../egress/guard.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { type ScheduleClock, UnknownTimeZone } from '../../platform/temporal/scheduleClock.ts';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import {
  MAX_BACKFILL,
  type NewScheduleBody,
  type ScheduleChangeBody,
  type ScheduleRow,
  type ScheduleRunRow,
  type ScheduleTarget,
} from '../../schemas/schedules.ts';
import type { SendableCallbacks } from '../../store/batches/batchCallbacks.ts';
import type { Page, PageRequest } from '../../store/mongo/pages.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { ScheduleDoc, ShownSchedule } from '../../store/schedules/scheduleDocs.ts';
import { runRow, scheduleRow } from '../../store/schedules/scheduleRow.ts';
import { runIdAt, type ScheduleRuns, triggeredRunId } from '../../store/schedules/scheduleRuns.ts';
import type { ScheduleChange, Schedules } from '../../store/schedules/schedules.ts';
import { openTarget, sealTarget } from '../../store/schedules/sealed.ts';
import { syncClock } from '../../store/schedules/syncClock.ts';
import type { ToolCallService } from '../calls/run.ts';
import type { Caller } from '../http/context.ts';
import type { ResendCallbacks } from '../jobs/resendCallbacks.ts';
import { checkReceiverUrl } from '../webhooks/receiverUrl.ts';
import { assertComparable, type createCheckTarget } from './checkTarget.ts';
import { checkPeriod, checkTimes, ZONE_RULE } from './checkTimes.ts';
import type { ScheduleLimits } from './scheduleLimits.ts';

interface NewSchedule {
  caller: Caller;
  requestId: string;
  idempotencyKey: string | null;
  body: NewScheduleBody;
}

/** Schedules as the API offers them. A key that may call only some tools sees only schedules of these. */
export interface ScheduleService {
  /** Creates a schedule, or returns the earlier one with the same Idempotency-Key. @throws ServiceError */
  create(request: NewSchedule): Promise<{ row: ScheduleRow; isReplay: boolean }>;
  /** @throws ServiceError not_found */
  find(caller: Caller, id: string): Promise<ShownSchedule>;
  get(caller: Caller, id: string): Promise<ScheduleRow>;
  list(caller: Caller, page: PageRequest): Promise<Page<ScheduleRow>>;
  change(caller: Caller, id: string, body: ScheduleChangeBody): Promise<ScheduleRow>;
  remove(caller: Caller, id: string): Promise<void>;
  runs(caller: Caller, id: string, page: PageRequest): Promise<Page<ScheduleRunRow>>;
  /** Adds a run now, or returns the earlier one with the same Idempotency-Key. */
  trigger(
    caller: Caller,
    id: string,
    key: string | null,
  ): Promise<{ row: ScheduleRunRow; isReplay: boolean }>;
  /**
   * Sends callbacks again. @param ids which; undefined: the newest failed ones
   * @returns how many were queued @throws ServiceError not_found, rate_limited
   */
  resendCallbacks(caller: Caller, id: string, ids: readonly string[] | undefined): Promise<number>;
  /** Adds the runs of a period that are missing. */
  backfill(caller: Caller, id: string, from: Date, to: Date): Promise<{ times: number; added: number }>;
}

interface Dependencies {
  registry: Registry;
  toolCallService: Pick<ToolCallService, 'authorize'>;
  checkTarget: ReturnType<typeof createCheckTarget>;
  schedules: Schedules;
  runs: ScheduleRuns;
  clock: ScheduleClock;
  limits: ScheduleLimits;
  /** Has the runs of a schedule started, in the background. */
  advance(scheduleId: string, accountId: string): void;
  keyring: Keyring;
  callbacks: SendableCallbacks;
  resendCallbacks: ResendCallbacks;
  /** Egress guard that permits public addresses and `localhost`. */
  egress: Guard;
  publicUrl(): string;
  onError: (error: unknown) => void;
}

/** Clocks of a list that are read at the same time. */
const CLOCKS = 8;

const toolsOf = (target: ScheduleTarget): string[] => ['job' in target ? target.job.tool : target.batch.tool];

export function createScheduleService(deps: Dependencies): ScheduleService {
  const { registry, schedules, runs, clock, keyring } = deps;
  const priceOf = (tool: string): number => registry.get(tool)?.price ?? 0;

  async function find({ account, key }: Caller, id: string): Promise<ShownSchedule> {
    const row = await retryStore(() => schedules.find(account._id, id));
    if (row === null || (key?.tools != null && !row.tools.every((tool) => key.tools?.includes(tool))))
      throw new ServiceError('not_found');
    return row;
  }

  /** Returns a schedule with its large parts. @throws ServiceError not_found */
  async function whole(id: string): Promise<ScheduleDoc> {
    const schedule = await retryStore(() => schedules.read(id));
    if (schedule === null || schedule.deletedAt !== undefined) throw new ServiceError('not_found');
    return schedule;
  }

  /** Checks that the caller may run the calls of a schedule. @throws ServiceError */
  function authorize(caller: Caller, { tools }: ShownSchedule): void {
    for (const name of tools) {
      const tool = registry.get(name);
      if (tool === undefined) throw new ServiceError('unknown_tool');
      deps.toolCallService.authorize(caller, tool);
    }
  }

  async function rowOf(schedule: ShownSchedule): Promise<ScheduleRow> {
    // What Temporal cannot say at the moment is left out.
    const nextAt = schedule.paused ? null : await clock.next(schedule).catch(() => null);
    return scheduleRow(keyring, schedule, priceOf, nextAt);
  }

  /** @throws ServiceError invalid_input if the clock refuses the schedule; other errors are left to the sweeper */
  async function sync(id: string): Promise<void> {
    try {
      await syncClock(schedules, clock, id);
    } catch (error) {
      if (error instanceof UnknownTimeZone)
        throw invalidInput([{ pointer: '/timeZone', message: ZONE_RULE }]);
      deps.onError(error);
    }
  }

  const canonicalOf = (body: NewScheduleBody): string => canonicalize({ schedule: body }) ?? '';

  /** Returns the earlier schedule, if the request is the same. @throws ServiceError idempotency_key_mismatch */
  async function replay(
    schedule: ShownSchedule,
    canonical: string,
  ): Promise<{ row: ScheduleRow; isReplay: true }> {
    const known = schedule.idempotency?.fingerprint ?? '';
    if (keyring.mac('fingerprint', canonical, known.slice(0, known.indexOf(':'))) !== known)
      throw new ServiceError('idempotency_key_mismatch');
    return { row: await rowOf(schedule), isReplay: true };
  }

  async function checkUrl(url: string | null | undefined): Promise<void> {
    if (url != null) await checkReceiverUrl(deps.egress, url, '/callbackUrl');
  }

  return {
    async create({ caller, requestId, idempotencyKey, body }) {
      const { account, key } = caller;
      // Before the check, which adds defaults to the inputs.
      const canonical = canonicalOf(body);
      const earlier =
        idempotencyKey === null
          ? null
          : await retryStore(() => schedules.findByKey(account._id, idempotencyKey));
      if (earlier !== null) return replay(earlier, canonical);
      checkTimes(body);
      const target = deps.checkTarget(caller, body);
      if (target === null) throw invalidInput([{ pointer: '/job', message: 'is required, or batch' }]);
      assertComparable(target, body.onChange);
      await checkUrl(body.callbackUrl);
      await deps.limits.takeChange(account._id);
      const id = `sch_${randomUUID()}`;
      const { name, cron, timeZone, overlap, onChange, callbackUrl = null, paused } = body;
      const { schedule, created } = await retryStore(() =>
        schedules.create({
          _id: id,
          accountId: account._id,
          keyId: key?._id ?? null,
          keyPrefix: key?.prefix ?? null,
          requestId,
          name,
          cron,
          timeZone,
          overlap,
          onChange,
          callbackUrl,
          paused,
          pauseReason: paused ? 'requested' : null,
          ...sealTarget(keyring, id, target),
          tools: toolsOf(target),
          baseUrl: deps.publicUrl(),
          createdAt: new Date(),
          idempotency:
            idempotencyKey === null
              ? null
              : { key: idempotencyKey, fingerprint: keyring.mac('fingerprint', canonical) },
        }),
      );
      if (!created) return replay(schedule, canonical);
      try {
        await sync(id);
      } catch (error) {
        await schedules.remove(account._id, id);
        throw error;
      }
      return { row: await rowOf(schedule), isReplay: false };
    },

    find,

    get: async (caller, id) => rowOf(await find(caller, id)),

    async list({ account, key }, page) {
      const { items, nextCursor } = await schedules.list(account._id, key?.tools ?? null, page);
      return { items: await pMap(items, rowOf, { concurrency: CLOCKS }), nextCursor };
    },

    async change(caller, id, { job, batch, ...fields }) {
      const before = await find(caller, id);
      const earlier = fields.timeZone === undefined && fields.onChange === undefined ? null : await whole(id);
      checkTimes(fields);
      const target = deps.checkTarget(caller, {
        ...(job !== undefined && { job }),
        ...(batch !== undefined && { batch }),
      });
      if (target === null) authorize(caller, before);
      if (target !== null) assertComparable(target, fields.onChange ?? before.onChange);
      else if (earlier !== null && fields.onChange !== undefined)
        assertComparable(openTarget(keyring, earlier), fields.onChange);
      await checkUrl(fields.callbackUrl);
      await deps.limits.takeChange(caller.account._id);
      const { paused } = fields;
      const isPause = paused === true && target === null && Object.keys(fields).length === 1;
      // A change that only pauses keeps the schedule's key, and so does a user without a key: its limits would be lost.
      const keepsKey = isPause || (caller.key === null && before.pauseReason !== 'key_revoked');
      const change: ScheduleChange = {
        ...fields,
        ...(paused !== undefined && { pauseReason: paused ? 'requested' : null }),
        ...(target !== null && {
          ...sealTarget(keyring, id, target),
          tools: toolsOf(target),
        }),
        keyId: keepsKey ? before.keyId : (caller.key?._id ?? null),
        keyPrefix: keepsKey ? before.keyPrefix : (caller.key?.prefix ?? null),
      };
      const { _id: accountId } = caller.account;
      const schedule = await retryStore(() => schedules.change(accountId, id, change));
      if (schedule === null) throw new ServiceError('not_found');
      try {
        await sync(id);
      } catch (error) {
        if (earlier !== null) await schedules.undo(earlier, schedule.version);
        await sync(id);
        throw error;
      }
      // Runs that waited while it was paused.
      if (paused === false) deps.advance(id, accountId);
      return rowOf(schedule);
    },

    async remove(caller, id) {
      await find(caller, id);
      await retryStore(() => schedules.remove(caller.account._id, id));
      await sync(id);
    },

    async runs(caller, id, page) {
      await find(caller, id);
      const { items, nextCursor } = await runs.list(id, page);
      return { items: items.map((run) => runRow(keyring, run)), nextCursor };
    },

    async trigger(caller, id, key) {
      const schedule = await find(caller, id);
      authorize(caller, schedule);
      const run = { id: triggeredRunId(id, key), origin: 'trigger', dueAt: new Date() } as const;
      if (key === null || (await retryStore(() => runs.find(run.id))) === null)
        await deps.limits.takeTrigger(schedule.accountId);
      const added = await retryStore(() => runs.add(schedule, [run]));
      const row = added?.[0] ?? (await runs.find(run.id));
      if (row === null || added === null) throw new ServiceError('not_found');
      // If the process that added the run was killed, the sweeper has it started.
      if (added.length > 0) deps.advance(id, schedule.accountId);
      return { row: runRow(keyring, row), isReplay: added.length === 0 };
    },

    async resendCallbacks(caller, id, ids) {
      const { accountId } = await find(caller, id);
      const { callbacks } = deps;
      const selected = await retryStore(() => callbacks.select(id, ids));
      return deps.resendCallbacks(accountId, selected, callbacks.queue);
    },

    async backfill(caller, id, from, to) {
      const schedule = await find(caller, id);
      authorize(caller, schedule);
      checkPeriod(from, to);
      if (schedule.unsyncedSince !== null) await sync(id);
      const times = await clock.times(id, from, to, MAX_BACKFILL).catch((error) => {
        if (error instanceof ScheduleNotFoundError) throw new ServiceError('pool_busy', { cause: error });
        throw error;
      });
      if (times.length > MAX_BACKFILL) {
        const message = `the period has more than ${MAX_BACKFILL} times of the schedule`;
        throw invalidInput([{ pointer: '/to', message }]);
      }
      const all = times.map((dueAt) => ({ id: runIdAt(id, dueAt), origin: 'backfill', dueAt }) as const);
      const added = await retryStore(() => runs.add(schedule, all));
      if (added === null) throw new ServiceError('not_found');
      if (added.length > 0) deps.advance(id, schedule.accountId);
      return { times: times.length, added: added.length };
    },
  };
}
