import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type Router from '@koa/router';
import { EVENTS_TYPE, getBatchEvents } from '../../schemas/batches.ts';
import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import { batchRow } from '../../store/batches/batchRow.ts';
import type { Context, State } from '../http/context.ts';
import { createTransferLimit } from '../http/transferLimit.ts';
import type { BatchService } from './batchService.ts';

interface Dependencies {
  batches: Pick<BatchService, 'find'>;
  /** Aborted when the process stops. */
  stopping: AbortSignal;
}

/** Streams the progress of the batch in the path, to a caller who has been authenticated. */
export type BatchEvents = (ctx: Context) => Promise<void>;

/** Streams of an account that a process sends at the same time, and how long further ones wait. */
const STREAMS = { most: 16, waitMs: 1000, what: 'streams of an account are sent' } as const;
/** Interval at which the state is read, in milliseconds. */
const POLL_MS = 1000;
/** Interval of comments that keep the connection open, in milliseconds; below the timeout of common proxies. */
const COMMENT_MS = 15_000;
/** Longest stream, in milliseconds. The client reconnects, which checks its key again. */
const STREAM_MS = 600_000;

const eventOf = (name: 'progress' | 'end', batch: BatchDoc): string =>
  `event: ${name}\nid: ${batch.revision}\ndata: ${JSON.stringify(batchRow(batch))}\n\n`;

/**
 * Yields an event for each change of a batch until it has ended. Each has the whole state, so that no event is needed that was not
 * received.
 *
 * @param seen `revision` of the state that the client has; null: none
 */
async function* eventsOf(
  read: () => Promise<BatchDoc>,
  seen: number | null,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let known = seen;
  let writtenAt = Date.now();
  while (!signal.aborted) {
    const batch = await read();
    if (batch.revision !== known) {
      known = batch.revision;
      writtenAt = Date.now();
      yield eventOf(batch.endedAt === null ? 'progress' : 'end', batch);
    }
    if (batch.endedAt !== null) return;
    if (Date.now() - writtenAt > COMMENT_MS) {
      writtenAt = Date.now();
      yield ':\n\n';
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Creates the streams. The API and the dashboard of a process share their limit. */
export function createBatchEvents({ batches, stopping }: Dependencies): BatchEvents {
  const streams = createTransferLimit(STREAMS);

  return async (ctx) => {
    const closed = new AbortController();
    if (ctx.res.closed) closed.abort();
    else ctx.res.once('close', () => closed.abort());
    const { caller } = ctx.state;
    const read = () => batches.find(caller, ctx.params.id ?? '');
    const batch = await read();
    const last = ctx.get('Last-Event-ID');
    const seen = /^\d{1,15}$/.test(last) ? Number(last) : null;
    if (batch.endedAt !== null && seen === batch.revision) {
      ctx.status = 204;
      return;
    }
    const signal = AbortSignal.any([closed.signal, stopping, AbortSignal.timeout(STREAM_MS)]);
    const slot = await streams.acquire(batch.accountId, signal);
    closed.signal.addEventListener('abort', () => slot[Symbol.dispose](), { once: true });
    if (closed.signal.aborted) slot[Symbol.dispose]();
    ctx.type = EVENTS_TYPE;
    ctx.body = Readable.from(eventsOf(read, seen, signal));
  };
}

/** Registers the stream of a batch's progress. @param authorize authenticates a request and takes its tokens */
export function eventRoutes(
  router: Router<State>,
  events: BatchEvents,
  authorize: (ctx: Context) => Promise<void>,
): void {
  router.get(getBatchEvents.path.replace('{id}', ':id'), async (ctx) => {
    await authorize(ctx);
    await events(ctx);
  });
}
