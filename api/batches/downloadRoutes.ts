import { Readable } from 'node:stream';
import type Router from '@koa/router';
import { createSemaphorePerHolder } from '../../platform/semaphores.ts';
import {
  CSV_TYPE,
  getBatchFiles,
  getBatchResults,
  getManifest,
  NDJSON_TYPE,
  type ResultsQuery,
  ZIP_TYPE,
} from '../../schemas/batches.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { Operation } from '../../schemas/operation.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ObjectSchema } from '../../schemas/tool.ts';
import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import type { RowOutputs } from '../../store/batches/rowOutputs.ts';
import { prefersRaw } from '../http/accept.ts';
import type { Context, State } from '../http/context.ts';
import { parseQuery } from '../http/operation.ts';
import { createValidator } from '../http/validator.ts';
import type { BatchService } from './batchService.ts';
import { filesZip } from './filesZip.ts';
import { manifestOf } from './manifest.ts';
import { csvLines, ndjsonLines } from './resultLines.ts';

export interface DownloadDependencies {
  registry: Registry;
  batches: Pick<BatchService, 'find'>;
  outputs: RowOutputs;
  /** Authenticates a request and takes its tokens. */
  authorize(ctx: Context): Promise<void>;
}

/** Downloads of an account that a process streams at the same time, and how long further ones wait. */
const DOWNLOADS = { most: 2, waitMs: 10_000, retryAfter: 5 } as const;
const NO_QUERY: ObjectSchema = { type: 'object', properties: {}, required: [], additionalProperties: false };

/** A stream that holds one part ahead of the client: a result may have 50 MB. */
const streamOf = (parts: AsyncIterable<string | Uint8Array>): Readable =>
  Readable.from(parts, { highWaterMark: 1 });

/** Registers the operations that stream what a batch has produced. */
export function downloadRoutes(router: Router<State>, deps: DownloadDependencies): void {
  const { registry, batches, outputs, authorize } = deps;
  const downloads = createSemaphorePerHolder(DOWNLOADS.most);
  const compile = createValidator();
  const validateQuery = compile<ResultsQuery>(getBatchResults.query ?? NO_QUERY);
  const pathOf = ({ path }: Operation): string => path.replace('{id}', ':id');

  /** Waits until a download of the account may begin. Its slot is free again when the response has ended. */
  async function begin(ctx: Context, accountId: string): Promise<void> {
    const slot = await downloads.acquire(accountId, AbortSignal.timeout(DOWNLOADS.waitMs)).catch((error) => {
      throw new ServiceError('rate_limited', {
        detail: `At most ${DOWNLOADS.most} downloads of an account are sent at the same time.`,
        retryAfter: DOWNLOADS.retryAfter,
        cause: error,
      });
    });
    const end = () => slot[Symbol.dispose]();
    if (ctx.res.closed) end();
    else ctx.res.once('close', end);
  }

  async function open(ctx: Context): Promise<BatchDoc> {
    await authorize(ctx);
    const batch = await batches.find(ctx.state.caller, ctx.params.id ?? '');
    await begin(ctx, batch.accountId);
    return batch;
  }

  router.get(pathOf(getBatchResults), async (ctx) => {
    const batch = await open(ctx);
    const { order = batch.order, after = -1 } = validateQuery(
      parseQuery(ctx, getBatchResults.query ?? NO_QUERY),
    );
    const rows = outputs.rows(batch._id, order, after);
    ctx.vary('Accept');
    if (prefersRaw(ctx.get('Accept'), CSV_TYPE)) {
      const [name, ...others] = batch.tools;
      const tool = others.length === 0 ? (registry.get(name ?? '') ?? null) : null;
      ctx.attachment(`${batch._id}.csv`);
      ctx.type = CSV_TYPE;
      ctx.body = streamOf(csvLines(rows, tool));
      return;
    }
    ctx.type = NDJSON_TYPE;
    ctx.body = streamOf(ndjsonLines(rows));
  });

  router.get(pathOf(getBatchFiles), async (ctx) => {
    const batch = await open(ctx);
    ctx.attachment(`${batch._id}.zip`);
    ctx.type = ZIP_TYPE;
    ctx.body = streamOf(filesZip(outputs.rows(batch._id, 'input', -1), registry, batch.createdAt));
  });

  router.get(pathOf(getManifest), async (ctx) => {
    const batch = await open(ctx);
    if (batch.endedAt === null)
      throw new ServiceError('not_finished', {
        detail: 'The batch has not ended yet, so that it has no manifest.',
      });
    ctx.body = await manifestOf(batch, outputs.rows(batch._id, 'input', -1));
  });
}
