import type Router from '@koa/router';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import {
  cancelJob,
  createJob,
  getCallbackSecret,
  getJob,
  getJobResult,
  listJobCallbacks,
  listJobs,
  type NewJobBody,
  newJobBody,
  resendJobCallbacks,
  rotateCallbackSecret,
} from '../../schemas/jobs.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { CallbackSecret, CallbackSecrets } from '../../store/jobs/callbackSecrets.ts';
import { jobCallbackRows } from '../../store/jobs/jobRow.ts';
import { respond } from '../calls/answer.ts';
import type { ToolCallService } from '../calls/run.ts';
import { idempotencyKey, maxCredits } from '../calls/toolCall.ts';
import { DEFAULT_BODY_BYTES } from '../calls/toolRoutes.ts';
import type { FormInput, Uploads } from '../files/uploads.ts';
import { readJson } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import type { Serve } from '../http/operation.ts';
import type { TakeTokens } from '../http/rateLimit.ts';
import type { UploadLimit } from '../http/uploadLimit.ts';
import { createValidator } from '../http/validator.ts';
import type { JobRequest, JobService } from './jobService.ts';

interface Dependencies {
  registry: Registry;
  toolCallService: Pick<ToolCallService, 'authorize' | 'validate'>;
  jobs: JobService;
  secrets: CallbackSecrets;
  uploads: UploadLimit;
  fileUploads: Pick<Uploads, 'receiveInput'>;
  /** Authenticates by API key. */
  authenticate(ctx: Context): Promise<void>;
  rateLimit: TakeTokens;
  /** Registers operations of the API key, and those of the account. */
  serve: { tools: Serve; account: Serve };
}

/** Bytes of a body that creates a job, in addition to those of the tool's input. */
const EXTRA_BYTES = 16_384;
const RESPOND_ASYNC = /^\s*respond-async\s*(?:;|$)/i;

/** Whether the request prefers a response before the call has ended (RFC 7240, section 4.1). */
const prefersAsync = (ctx: Context): boolean =>
  ctx
    .get('Prefer')
    .split(',')
    .some((preference) => RESPOND_ASYNC.test(preference));

/** Runs a check of the input, whose faults are reported with their place in the body. */
function atInput<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.members.errors === undefined) throw error;
    const { errors, moreErrors = 0 } = error.members;
    throw invalidInput(
      errors.map(({ pointer, message }) => ({ pointer: `/input${pointer}`, message })),
      moreErrors,
    );
  }
}

const secretRow = ({ secret, next }: CallbackSecret) => ({
  secret,
  nextSecret: next?.secret ?? null,
  nextFrom: next?.from.toISOString() ?? null,
});

/** Registers the operations of jobs, and tool calls that prefer to be answered asynchronously. */
export function jobRoutes(router: Router<State>, deps: Dependencies): void {
  const { registry, toolCallService, jobs, secrets, uploads, fileUploads, authenticate, rateLimit, serve } =
    deps;
  const validateBody = createValidator()<NewJobBody>(newJobBody);
  const largestInput = Math.max(
    ...[...registry.values()].map(({ limits }) => limits.bodyBytes ?? DEFAULT_BODY_BYTES),
  );

  async function read(ctx: Context, bytes: number): Promise<Record<string, unknown>> {
    using _slot = await uploads.acquire(ctx.state.caller.account._id, ctx.req);
    return await readJson(ctx, bytes);
  }

  const toolOf = (name: string): ToolDefinition => {
    const tool = registry.get(name);
    if (tool === undefined) throw new ServiceError('unknown_tool');
    return tool;
  };

  /** Reads the input of a tool call: JSON, or a form with its file, which is stored. */
  async function readInput(
    ctx: Context,
    tool: ToolDefinition,
  ): Promise<Pick<FormInput, 'body'> & Partial<FormInput>> {
    const form = await fileUploads.receiveInput(ctx, tool);
    return form ?? { body: await read(ctx, tool.limits.bodyBytes ?? DEFAULT_BODY_BYTES) };
  }

  type Call = Pick<JobRequest, 'tool' | 'input' | 'fileDigest' | 'callbackUrl' | 'metadata'>;

  /** Answers with the job. @returns whether an earlier request has created it */
  async function accept(ctx: Context, { tool, ...call }: Call): Promise<boolean> {
    const { caller, requestId } = ctx.state;
    const { row, isReplay } = await jobs.create({
      caller,
      tool,
      ...call,
      idempotencyKey: idempotencyKey(ctx),
      max: maxCredits(ctx),
      requestId,
    });
    ctx.status = 202;
    ctx.set('Location', `/api/v1/jobs/${row.id}`);
    ctx.set('X-Credits-Cost', String(row.cost));
    ctx.set('X-Credits-Charged', '0');
    if (isReplay) ctx.set('Idempotent-Replayed', 'true');
    ctx.body = row;
    return isReplay;
  }

  // Precedes the route of synchronous calls, to which it leaves all other requests.
  router.post('/api/v1/tools/:tool', async (ctx, next) => {
    if (!prefersAsync(ctx)) return next();
    await authenticate(ctx);
    ctx.set('Cache-Control', 'no-store');
    const tool = toolOf(ctx.params.tool ?? '');
    await rateLimit(ctx, () => toolCallService.authorize(ctx.state.caller, tool));
    const { body, sha256: fileDigest, discard } = await readInput(ctx, tool);
    let isFileUsed = false;
    try {
      const input = toolCallService.validate(tool, body);
      isFileUsed = !(await accept(ctx, { tool, input, fileDigest, callbackUrl: null, metadata: null }));
    } finally {
      // A file that cannot be deleted expires.
      if (!isFileUsed) discard?.().catch(() => undefined);
    }
    ctx.set('Preference-Applied', 'respond-async');
  });

  router.post(createJob.path, async (ctx) => {
    await authenticate(ctx);
    ctx.set('Cache-Control', 'no-store');
    const { caller } = ctx.state;
    await rateLimit(ctx, () => {
      if (caller.key?.scope !== createJob.auth) throw new ServiceError('insufficient_scope');
    });
    const body = validateBody(await read(ctx, largestInput + EXTRA_BYTES));
    const tool = toolOf(body.tool);
    toolCallService.authorize(caller, tool);
    const input = atInput(() => toolCallService.validate(tool, body.input));
    const { callbackUrl = null, metadata = null } = body;
    await accept(ctx, { tool, input, callbackUrl, metadata });
  });

  router.get(getJobResult.path.replace('{id}', ':id'), async (ctx) => {
    const hangup = new AbortController();
    ctx.res.once('close', () => hangup.abort());
    await authenticate(ctx);
    ctx.set('Cache-Control', 'no-store');
    const { caller } = ctx.state;
    await rateLimit(ctx, () => {
      if (caller.key?.scope !== getJobResult.auth) throw new ServiceError('insufficient_scope');
    });
    const { job, ending } = await jobs.outcome(caller, ctx.params.id ?? '', hangup.signal);
    const { balance, reserved } = caller.account;
    ctx.set('X-Credits-Cost', String(job.policy.price));
    respond(ctx, registry.get(job.tool) ?? { name: job.tool }, {
      ending,
      available: balance - reserved,
      replayed: false,
      charged: job.charged,
      reused: job.reused ?? null,
      requestId: job.requestId,
    });
  });

  serve.tools(listJobs, ({ caller, query: { state, ...page } }) => jobs.list(caller, state, page));
  serve.tools(getJob, ({ caller, id, query }) => jobs.get(caller, id, query.wait));
  serve.tools(listJobCallbacks, async ({ caller, id }) => ({
    items: jobCallbackRows(await jobs.find(caller, id)),
    nextCursor: null,
  }));
  serve.tools(resendJobCallbacks, async ({ caller, id }) => ({
    queued: await jobs.resendCallbacks(caller, id),
  }));
  serve.tools(cancelJob, async ({ caller, id }) => {
    await jobs.cancel(caller, id);
    return undefined;
  });
  serve.account(getCallbackSecret, async ({ caller }) => secretRow(await secrets.read(caller.account._id)));
  serve.account(rotateCallbackSecret, async ({ caller, body }) =>
    secretRow(await secrets.rotate(caller.account._id, body.force)),
  );
}
