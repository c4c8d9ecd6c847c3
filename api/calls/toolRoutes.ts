import type Router from '@koa/router';
import { ServiceError } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { FormInput, Uploads } from '../files/uploads.ts';
import { readJson } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import { startPhases } from '../http/phases.ts';
import type { TakeTokens } from '../http/rateLimit.ts';
import type { UploadLimit } from '../http/uploadLimit.ts';
import { CREDENTIAL_HEADER, challengeHeader, decodeCredential } from '../topUps/challenge.ts';
import type { PaidCalls } from '../topUps/paidCalls.ts';
import { deliver, respond } from './answer.ts';
import type { Attention } from './attention.ts';
import type { Outages } from './outages.ts';
import type { ToolCallService } from './run.ts';
import { idempotencyKey, maxCredits } from './toolCall.ts';

export const DEFAULT_BODY_BYTES = 1_048_576;

interface Dependencies {
  registry: Registry;
  toolCallService: ToolCallService;
  paidCalls: PaidCalls;
  outages: Outages;
  uploads: UploadLimit;
  fileUploads: Pick<Uploads, 'receiveInput'>;
  authenticate(ctx: Context): Promise<void>;
  rateLimit: TakeTokens;
  attention: Pick<Attention, 'refused'>;
}

/** Registers the route through which all tools are called. */
export function toolRoutes(router: Router<State>, deps: Dependencies): void {
  const {
    registry,
    toolCallService,
    paidCalls,
    outages,
    uploads,
    fileUploads,
    authenticate,
    rateLimit,
    attention,
  } = deps;

  /** Adds a challenge to an error for lack of credits, if the account permits programs to buy some. */
  function offerPayment(ctx: Context, tool: ToolDefinition, error: unknown): void {
    const challenge = paidCalls.challengeFor(ctx.state.caller, tool, error);
    if (challenge !== null) ctx.set('WWW-Authenticate', challengeHeader(challenge));
  }

  /** Receives the input of a call. @param held owns the slot of a large body */
  async function receive(
    ctx: Context,
    tool: ToolDefinition,
    held: DisposableStack,
  ): Promise<Pick<FormInput, 'body'> & Partial<FormInput>> {
    const form = await fileUploads.receiveInput(ctx, tool);
    if (form !== null) return form;
    held.use(await uploads.acquire(ctx.state.caller.account._id, ctx.req));
    return { body: await readJson(ctx, tool.limits.bodyBytes ?? DEFAULT_BODY_BYTES) };
  }

  /** Checks and runs the call of an authenticated caller, and sends its result. @throws ServiceError if it is refused */
  async function answerCall(ctx: Context, tool: ToolDefinition, hangup: AbortSignal): Promise<void> {
    const { caller, requestId, arrivedAt } = ctx.state;
    const phases = startPhases(arrivedAt);
    const record = { tool: tool.name, charged: 0, phases };
    ctx.state.call = record;
    const { account } = caller;
    ctx.set('Cache-Control', 'no-store');
    ctx.set('X-Credits-Cost', String(tool.price));
    ctx.set('X-Credits-Charged', '0');
    ctx.set('X-Credits-Remaining', String(account.balance - account.reserved));
    await rateLimit(ctx, () => toolCallService.authorize(caller, tool));
    phases.begin('read');
    const [key, max] = [idempotencyKey(ctx), maxCredits(ctx)];
    // Large inputs of an account that wait for a place take as much memory as those that arrive.
    using held = new DisposableStack();
    const { body, sha256: fileDigest, discard } = await receive(ctx, tool, held);
    try {
      const input = toolCallService.validate(tool, body);
      phases.begin('start');
      const credential = ctx.get(CREDENTIAL_HEADER);
      const { answer, receipt } = await paidCalls.run(
        {
          caller,
          tool,
          input,
          fileDigest,
          idempotencyKey: key,
          max,
          requestId,
          arrivedAt,
          hangup,
          onStart() {
            held.dispose();
            phases.begin('run');
          },
        },
        credential === '' ? undefined : decodeCredential(credential),
      );
      phases.begin('respond');
      const { ending } = answer;
      if ('error' in ending) offerPayment(ctx, tool, ending.error);
      else if (receipt !== null)
        ctx.set('Payment-Receipt', Buffer.from(JSON.stringify(receipt)).toString('base64url'));
      record.charged = answer.charged;
      await deliver(ctx.res, answer, () => respond(ctx, tool, answer)).catch((fault: unknown) => {
        ctx.set('X-Credits-Charged', '0');
        record.charged = 0;
        throw fault;
      });
    } finally {
      // A file that cannot be deleted expires.
      discard?.().catch(() => undefined);
    }
  }

  router.post('/api/v1/tools/:tool', async (ctx) => {
    // The listener is registered before the first await, because the caller may disconnect during the checks.
    const hangup = new AbortController();
    ctx.res.once('close', () => hangup.abort());
    // Checked first, because authentication needs MongoDB.
    outages.refuse('mongodb');
    await authenticate(ctx);
    const tool = registry.get(ctx.params.tool ?? '');
    try {
      if (tool === undefined) throw new ServiceError('unknown_tool');
      await answerCall(ctx, tool, hangup.signal);
    } catch (error) {
      attention.refused(ctx.state, tool?.name ?? null, error);
      if (tool !== undefined) offerPayment(ctx, tool, error);
      throw error;
    }
  });
}
