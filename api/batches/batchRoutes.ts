import type Router from '@koa/router';
import {
  type BatchOptions,
  type BatchQuery,
  batchOptions,
  batchQuery,
  CSV_TYPE,
  cancelBatch,
  createBatch,
  getBatch,
  type JsonEnvelope,
  listBatchCallbacks,
  listBatches,
  MAX_BATCH_BYTES,
  NDJSON_TYPE,
  pauseBatch,
  resendBatchCallbacks,
  resumeBatch,
} from '../../schemas/batches.ts';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import { callbackRow } from '../../store/batches/batchCallbacks.ts';
import type { BatchCallbackDoc } from '../../store/batches/batchDocs.ts';
import { batchRow } from '../../store/batches/batchRow.ts';
import type { Page, PageRequest } from '../../store/mongo/pages.ts';
import { idempotencyKey, maxCredits } from '../calls/toolCall.ts';
import { DEFAULT_BODY_BYTES } from '../calls/toolRoutes.ts';
import { isOfType, receiveBody } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import { parseQuery, type Serve } from '../http/operation.ts';
import type { TakeTokens } from '../http/rateLimit.ts';
import type { TransferLimit } from '../http/transferLimit.ts';
import { createValidator } from '../http/validator.ts';
import type { BatchRequest, BatchService } from './batchService.ts';
import { csvRows } from './csvRows.ts';
import { type BatchDownloads, downloadRoutes } from './downloadRoutes.ts';
import { type BatchEvents, eventRoutes } from './eventRoutes.ts';
import { type Envelope, jsonRows } from './jsonRows.ts';
import { ndjsonRows } from './ndjsonRows.ts';

interface Dependencies {
  registry: Registry;
  batches: BatchService;
  /** Limits the bodies that are received. */
  uploads: TransferLimit;
  downloads: BatchDownloads;
  events: BatchEvents;
  /** Authenticates by API key. */
  authenticate(ctx: Context): Promise<void>;
  rateLimit: TakeTokens;
  serve: Serve;
  listCallbacks(batchId: string, page: PageRequest): Promise<Page<BatchCallbackDoc>>;
}

/** How the body of a request is read. */
type Format = Pick<BatchRequest, 'about' | 'rows' | 'options'>;

/** Bytes of a line or of an element in addition to those of the tool's input. */
const EXTRA_BYTES = 16_384;

/** Returns the maximum size of a row in bytes. */
export const longestRow = (registry: Registry): number =>
  EXTRA_BYTES +
  Math.max(...[...registry.values()].map(({ limits }) => limits.bodyBytes ?? DEFAULT_BODY_BYTES));

/** Registers the operations of batches. */
export function batchRoutes(router: Router<State>, deps: Dependencies): void {
  const { registry, batches, uploads, authenticate, rateLimit, serve } = deps;
  const validateQuery = createValidator()<BatchQuery>(batchQuery);
  const validateEnvelope = createValidator()<JsonEnvelope>(batchOptions);
  const longest = longestRow(registry);

  function jsonFormat(ctx: Context): Format {
    const [option] = Object.keys(ctx.query);
    if (option !== undefined)
      throw invalidInput([{ pointer: `/${option}`, message: 'is a field of the body with JSON' }]);
    const envelope: Envelope = new Map();
    return {
      about: { type: 'json' },
      rows: (chunks) => jsonRows(chunks, envelope, longest),
      options() {
        const { tool: _tool, ...options } = validateEnvelope(Object.fromEntries(envelope));
        return options;
      },
    };
  }

  function formatOf(ctx: Context): Format {
    if (isOfType(ctx.req, 'application/json')) return jsonFormat(ctx);
    const query = validateQuery(parseQuery(ctx, batchQuery));
    const { tool: name, ...options } = query;
    const asked: BatchOptions = options;
    if (isOfType(ctx.req, NDJSON_TYPE)) {
      if (name !== undefined) throw invalidInput([{ pointer: '/tool', message: `is only for ${CSV_TYPE}` }]);
      return {
        about: { type: 'ndjson', query },
        rows: (chunks) => ndjsonRows(chunks, longest),
        options: () => asked,
      };
    }
    if (!isOfType(ctx.req, CSV_TYPE))
      throw new ServiceError('unsupported_media_type', {
        detail: `The body must be application/json, ${NDJSON_TYPE} or ${CSV_TYPE} in UTF-8, without Content-Encoding.`,
      });
    if (name === undefined)
      throw invalidInput([{ pointer: '/tool', message: `is required with ${CSV_TYPE}` }]);
    const tool = registry.get(name);
    if (tool === undefined) throw new ServiceError('unknown_tool');
    return {
      about: { type: 'csv', query },
      rows: (chunks) => csvRows(chunks, tool, longest),
      options: () => asked,
    };
  }

  async function accept(ctx: Context, format: Format): Promise<void> {
    const { caller, requestId } = ctx.state;
    const [key, max] = [idempotencyKey(ctx), maxCredits(ctx)];
    using _slot = await uploads.acquire(caller.account._id);
    const chunks = receiveBody(ctx, MAX_BATCH_BYTES);
    const { row, isReplay } = await batches.create({
      caller,
      requestId,
      idempotencyKey: key,
      max,
      chunks,
      ...format,
    });
    ctx.status = createBatch.success.status;
    ctx.set('Location', `/api/v1/batches/${row.id}`);
    ctx.set('X-Credits-Cost', String(row.credits.total));
    ctx.set('X-Credits-Charged', '0');
    if (isReplay) ctx.set('Idempotent-Replayed', 'true');
    ctx.body = row;
  }

  async function authorize(ctx: Context): Promise<void> {
    await authenticate(ctx);
    ctx.set('Cache-Control', 'no-store');
    await rateLimit(ctx, () => {
      if (ctx.state.caller.key?.scope !== createBatch.auth) throw new ServiceError('insufficient_scope');
    });
  }

  router.post(createBatch.path, async (ctx) => {
    await authorize(ctx);
    await accept(ctx, formatOf(ctx));
  });
  downloadRoutes(router, deps.downloads, authorize);
  eventRoutes(router, deps.events, authorize);

  serve(listBatches, async ({ caller, query: { state, ...page } }) => {
    const { items, nextCursor } = await batches.list(caller, state, page);
    return { items: items.map(batchRow), nextCursor };
  });
  serve(getBatch, async ({ caller, id }) => batchRow(await batches.find(caller, id)));
  serve(listBatchCallbacks, async ({ caller, id, query }) => {
    await batches.find(caller, id);
    const { items, nextCursor } = await deps.listCallbacks(id, query);
    return { items: items.map(callbackRow), nextCursor };
  });
  serve(resendBatchCallbacks, async ({ caller, id, body }) => ({
    queued: await batches.resendCallbacks(caller, id, body.callbackIds),
  }));
  serve(pauseBatch, ({ caller, id }) => batches.pause(caller, id));
  serve(resumeBatch, ({ caller, id, body }) => batches.resume(caller, id, body.maxCredits));
  serve(cancelBatch, async ({ caller, id }) => {
    await batches.cancel(caller, id);
    return undefined;
  });
}
