import { randomUUID } from 'node:crypto';
import {
  CSV_TYPE,
  MAX_BATCH_BYTES,
  NDJSON_TYPE,
  type ResumeBody,
  resumeBody,
} from '../../../../schemas/batches.ts';
import { ServiceError } from '../../../../schemas/errors.ts';
import { secretFields, type ToolDefinition } from '../../../../schemas/tool.ts';
import { callbackRow, listCallbacks } from '../../../../store/batches/batchCallbacks.ts';
import type { BatchDoc } from '../../../../store/batches/batchDocs.ts';
import { pageOfRows, ROW_OUTCOMES, type RowOutcome } from '../../../../store/batches/rowPages.ts';
import type { PageRequest } from '../../../../store/mongo/pages.ts';
import { longestRow } from '../../../batches/batchRoutes.ts';
import { csvRows } from '../../../batches/csvRows.ts';
import type { Context } from '../../../http/context.ts';
import { createValidator } from '../../../http/validator.ts';
import type { Failure } from '../../components/alert.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { fieldNumber, referenceOf } from '../../frame/formValues.ts';
import { attempt, goTo, type Submission, sendPage, type Upload, type Visit } from '../../frame/pageRouter.ts';
import { pageOf, single } from '../../frame/query.ts';
import { batchPage } from './batchView.ts';
import { batchesPage } from './listView.ts';
import { newBatchPage } from './newView.ts';
import { BATCHES_PATH, batchPath, NEW_BATCH_PATH, templatePath, UPLOAD_PATH } from './paths.ts';
import { templateOf } from './template.ts';

const BATCH = `${BATCHES_PATH}/:id`;
/** Number of callbacks that the page of a batch shows. */
const CALLBACKS = 20;
const NO_ITEMS = { items: [], nextCursor: null };

const isOutcome = (text: string): text is RowOutcome => Object.hasOwn(ROW_OUTCOMES, text);

const outcomeOf = (ctx: Context): RowOutcome | null => {
  const outcome = single(ctx, 'outcome');
  return isOutcome(outcome) ? outcome : null;
};

/** Limits the content of a file to the size of a body of the API. @throws ServiceError body_too_large */
async function* limited(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of file) {
    size += chunk.length;
    if (size > MAX_BATCH_BYTES) throw new ServiceError('body_too_large');
    yield chunk;
  }
}

/** Registers the pages of batches: the list, the upload of a file, and each batch with its rows and downloads. */
export function batchesRoutes(dashboard: Dashboard): void {
  const { pages, core, packs, batchService, batchUploads, batchDownloads, batchEvents } = dashboard;
  const { registry, store } = core;
  const validateResume = createValidator()<ResumeBody>(resumeBody);
  const tools = [...registry.values()].filter((tool) => secretFields(tool).length === 0);
  const longest = longestRow(registry);

  const availableOf = ({ viewer: { account } }: Visit): number => account.balance - account.reserved;

  const newPage = (visit: Visit, tool: ToolDefinition | null, failure?: Failure): string =>
    newBatchPage({
      viewer: visit.viewer,
      tools,
      tool,
      available: availableOf(visit),
      packs,
      reference: randomUUID(),
      ...(failure && { failure }),
    });

  const toolOf = (name: string): ToolDefinition | null => tools.find((tool) => tool.name === name) ?? null;

  /** Renders a batch as it is now. */
  async function onePage(
    visit: Visit,
    batch: BatchDoc,
    {
      page = pageOf(visit.ctx),
      ...more
    }: { page?: PageRequest; failure?: Failure; maxCredits?: string } = {},
  ): Promise<string> {
    const { ctx, viewer } = visit;
    const outcome = outcomeOf(ctx);
    const hasFile = (name: string) => {
      const tool = registry.get(name);
      return tool?.raw !== undefined || tool?.optionalFile !== undefined;
    };
    const callbacks =
      batch.callbackUrl === null ? NO_ITEMS : await listCallbacks(store, batch._id, { limit: CALLBACKS });
    return batchPage({
      viewer,
      batch,
      callbacks: callbacks.items.map(callbackRow),
      available: availableOf(visit),
      packs,
      rows: await pageOfRows(store, batch, outcome, page),
      outcome,
      cursor: page.cursor,
      hasFiles: batch.tools.some(hasFile),
      maxCredits: batch.maxCredits === null ? '' : String(batch.maxCredits),
      ...more,
    });
  }

  pages.get(BATCHES_PATH, async ({ ctx, viewer }) => {
    const page = pageOf(ctx);
    const shown = { viewer, cursor: page.cursor };
    const show = async () => {
      const batches = await batchService.list(ctx.state.caller, undefined, page);
      sendPage(ctx, batchesPage({ ...shown, batches }));
    };
    await attempt(ctx, show, (failure) => batchesPage({ ...shown, batches: NO_ITEMS, failure }));
  });

  // Before the page of a batch, whose path also matches.
  pages.get(NEW_BATCH_PATH, async (visit) =>
    sendPage(visit.ctx, newPage(visit, toolOf(single(visit.ctx, 'tool')))),
  );

  for (const tool of tools)
    pages.get(templatePath(tool.name), async ({ ctx }) => {
      ctx.attachment(`${tool.name}.csv`);
      ctx.type = CSV_TYPE;
      ctx.body = templateOf(tool);
    });

  /** Checks a file as it arrives, and stores its rows as a batch that waits for its start. */
  async function accept({ ctx, form, file }: Upload, tool: ToolDefinition): Promise<void> {
    const { caller, requestId } = ctx.state;
    const reference = referenceOf(form);
    using _slot = await batchUploads.acquire(caller.account._id);
    const { row } = await batchService.create({
      caller,
      requestId,
      idempotencyKey: reference === null ? null : `dashboard-${reference}`,
      max: Number.POSITIVE_INFINITY,
      about: { type: 'csv', dashboard: tool.name },
      chunks: limited(file),
      rows: (chunks) => csvRows(chunks, tool, longest),
      options: () => ({ order: 'input', onEmptyBalance: 'pause' }),
      waitsForStart: true,
    });
    goTo(ctx, batchPath(row.id));
  }

  const receive = async (upload: Upload) => {
    const tool = toolOf(upload.form.get('tool') ?? '');
    if (tool === null) throw new ServiceError('unknown_tool');
    await attempt(
      upload.ctx,
      () => accept(upload, tool),
      (failure) => newPage(upload, tool, failure),
    );
  };
  pages.upload(UPLOAD_PATH, receive, NEW_BATCH_PATH);

  pages.get(BATCH, async (visit) => {
    const { ctx, id } = visit;
    const batch = await batchService.find(ctx.state.caller, id);
    const show = async () => sendPage(ctx, await onePage(visit, batch));
    const { limit } = pageOf(ctx);
    await attempt(ctx, show, (failure) => onePage(visit, batch, { failure, page: { limit } }));
  });

  const onBatch = { page: batchPath };

  const resume = async (visit: Submission) => {
    const { ctx, id, form } = visit;
    const { caller } = ctx.state;
    const maxCredits = (form.get('maxCredits') ?? '').trim();
    const batch = await batchService.find(caller, id);
    const apply = async () => {
      // An empty field means: without a limit.
      const limit = maxCredits === '' ? null : fieldNumber(maxCredits);
      await batchService.resume(caller, id, validateResume({ maxCredits: limit }).maxCredits);
      goTo(ctx, batchPath(id));
    };
    await attempt(ctx, apply, (failure) => onePage(visit, batch, { failure, maxCredits }));
  };
  pages.post(`${BATCH}/resume`, resume, onBatch);

  const pause = async ({ ctx, id }: Submission) => {
    await batchService.pause(ctx.state.caller, id);
    goTo(ctx, batchPath(id));
  };
  pages.post(`${BATCH}/pause`, pause, onBatch);

  const cancel = async ({ ctx, id }: Submission) => {
    await batchService.cancel(ctx.state.caller, id);
    goTo(ctx, batchPath(id));
  };
  pages.post(`${BATCH}/cancel`, cancel, onBatch);

  const sendAgain = async ({ ctx, id }: Submission) => {
    await batchService.resendCallbacks(ctx.state.caller, id, [ctx.params.callbackId ?? '']);
    goTo(ctx, batchPath(id));
  };
  pages.post(`${BATCH}/callbacks/:callbackId/resend`, sendAgain, onBatch);

  pages.get(`${BATCH}/events`, ({ ctx }) => batchEvents(ctx));
  pages.get(`${BATCH}/results.csv`, ({ ctx, id }) => batchDownloads.results(ctx, CSV_TYPE, `${id}.csv`));
  pages.get(`${BATCH}/results.ndjson`, ({ ctx, id }) =>
    batchDownloads.results(ctx, NDJSON_TYPE, `${id}.ndjson`),
  );
  pages.get(`${BATCH}/files.zip`, ({ ctx }) => batchDownloads.files(ctx));
  pages.get(`${BATCH}/manifest.json`, async ({ ctx, id }) => {
    await batchDownloads.manifest(ctx);
    ctx.attachment(`${id}.json`);
  });
}
