import { Readable } from 'node:stream';
import type Router from '@koa/router';
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
import { createTransferLimit } from '../http/transferLimit.ts';
import { createValidator } from '../http/validator.ts';
import { withRests } from '../http/withRests.ts';
import type { BatchService } from './batchService.ts';
import { filesZip } from './filesZip.ts';
import { manifestOf } from './manifest.ts';
import { csvLines, ndjsonLines } from './resultLines.ts';

interface Dependencies {
  registry: Registry;
  batches: Pick<BatchService, 'find'>;
  outputs: RowOutputs;
}

/** Sends what the batch in the path has produced, to a caller who has been authenticated. */
export interface BatchDownloads {
  /** @param fileName offers the response as a file of this name; null: its type decides */
  results(ctx: Context, type: typeof CSV_TYPE | typeof NDJSON_TYPE, fileName: string | null): Promise<void>;
  files(ctx: Context): Promise<void>;
  /** @throws ServiceError not_finished */
  manifest(ctx: Context): Promise<void>;
}

/** Downloads of an account that a process streams at the same time, and how long further ones wait. */
const DOWNLOADS = { most: 2, waitMs: 10_000, what: 'downloads of an account are sent' } as const;
const NO_QUERY: ObjectSchema = { type: 'object', properties: {}, required: [], additionalProperties: false };

/** A stream that holds one part ahead of the client: a result may have 50 MB. */
const streamOf = (parts: AsyncIterable<string | Uint8Array>): Readable =>
  Readable.from(parts, { highWaterMark: 1 });

/** Creates the downloads. The API and the dashboard of a process share their limit. */
export function createBatchDownloads({ registry, batches, outputs }: Dependencies): BatchDownloads {
  const downloads = createTransferLimit(DOWNLOADS);
  const validateQuery = createValidator()<ResultsQuery>(getBatchResults.query ?? NO_QUERY);

  /** Waits until a download of the account may begin. Its slot is free again when the response has ended. */
  async function open(ctx: Context): Promise<BatchDoc> {
    const batch = await batches.find(ctx.state.caller, ctx.params.id ?? '');
    await downloads.hold(batch.accountId, ctx.res);
    return batch;
  }

  return {
    async results(ctx, type, fileName) {
      const batch = await open(ctx);
      const { order = batch.order, after = -1 } = validateQuery(
        parseQuery(ctx, getBatchResults.query ?? NO_QUERY),
      );
      const rows = withRests(outputs.rows(batch._id, order, after));
      if (fileName !== null) ctx.attachment(fileName);
      ctx.type = type;
      if (type === NDJSON_TYPE) {
        ctx.body = streamOf(ndjsonLines(rows));
        return;
      }
      const [name, ...others] = batch.tools;
      const tool = others.length === 0 ? (registry.get(name ?? '') ?? null) : null;
      ctx.body = streamOf(csvLines(rows, tool));
    },

    async files(ctx) {
      const batch = await open(ctx);
      ctx.attachment(`${batch._id}.zip`);
      ctx.type = ZIP_TYPE;
      ctx.body = streamOf(
        filesZip(withRests(outputs.rows(batch._id, 'input', -1)), registry, batch.createdAt),
      );
    },

    async manifest(ctx) {
      const batch = await open(ctx);
      if (batch.endedAt === null)
        throw new ServiceError('not_finished', {
          detail: 'The batch has not ended yet, so that it has no manifest.',
        });
      ctx.body = await manifestOf(batch, withRests(outputs.rows(batch._id, 'input', -1)));
    },
  };
}

/** Registers the operations that stream what a batch has produced. @param authorize authenticates a request and takes its tokens */
export function downloadRoutes(
  router: Router<State>,
  downloads: BatchDownloads,
  authorize: (ctx: Context) => Promise<void>,
): void {
  const pathOf = ({ path }: Operation): string => path.replace('{id}', ':id');

  router.get(pathOf(getBatchResults), async (ctx) => {
    await authorize(ctx);
    ctx.vary('Accept');
    if (prefersRaw(ctx.get('Accept'), CSV_TYPE))
      await downloads.results(ctx, CSV_TYPE, `${ctx.params.id ?? ''}.csv`);
    else await downloads.results(ctx, NDJSON_TYPE, null);
  });

  router.get(pathOf(getBatchFiles), async (ctx) => {
    await authorize(ctx);
    await downloads.files(ctx);
  });

  router.get(pathOf(getManifest), async (ctx) => {
    await authorize(ctx);
    await downloads.manifest(ctx);
  });
}
