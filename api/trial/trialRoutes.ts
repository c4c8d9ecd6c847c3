import type Router from '@koa/router';
import type { Logger } from 'pino';
import { createFairSemaphore } from '../../platform/semaphores.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { Registry } from '../../schemas/registry.ts';
import { addressKey } from '../auth/addressKey.ts';
import { deliver } from '../calls/answer.ts';
import type { Outages } from '../calls/outages.ts';
import type { ToolCallService } from '../calls/run.ts';
import { failureOf } from '../dashboard/components/alert.ts';
import { sendPage } from '../dashboard/frame/pageRouter.ts';
import { toolInput } from '../dashboard/pages/tools/input.ts';
import { readForm } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import { isSameOrigin } from '../http/origin.ts';
import { sendProblem, toServiceError } from '../http/problem.ts';
import { SITE_HEADERS } from '../site/siteRoutes.ts';
import type { FindTrialAccount } from './trialAccount.ts';
import type { TrialEnding } from './trialForm.ts';
import type { TrialLimit } from './trialLimit.ts';
import { boundedInput, TRIAL_CHARACTERS, type Trial, trialPath, trialsOf } from './trials.ts';

interface Dependencies {
  registry: Registry;
  toolCallService: ToolCallService;
  outages: Outages;
  findAccount: FindTrialAccount;
  limit: TrialLimit;
  /** URL of the API; known when the first request arrives. */
  baseUrl(): string;
  publicUrl: string | null;
  log: Logger;
}

/** Maximum number of concurrent trial calls in this process. Waiting addresses get the next free slot in turn. */
const SLOTS = 2;
const SLOT_WAIT_MS = 5000;
const FORM_BYTES = 16_384;
const CROSS_SITE = 'This form was submitted from another site. Submit it on this page.';

/**
 * Registers the calls without an account that the landing page offers. They are ordinary calls of the trial account, which
 * the fair sharing of the pools treats as one account.
 */
export function trialRoutes(router: Router<State>, deps: Dependencies): void {
  const { registry, toolCallService, outages, findAccount, limit, publicUrl, log } = deps;
  const slots = createFairSemaphore(SLOTS);

  const takeSlot = (ctx: Context, hangup: AbortSignal): Promise<Disposable> =>
    slots
      .acquire(addressKey(ctx.ip), AbortSignal.any([hangup, AbortSignal.timeout(SLOT_WAIT_MS)]))
      .catch((error) => {
        const detail = 'Many visitors are trying the tools at the moment. Try again in a few seconds.';
        throw new ServiceError('pool_busy', { detail, cause: error });
      });

  async function run(
    ctx: Context,
    trial: Trial,
    form: URLSearchParams,
    show: (output: Record<string, unknown>) => Promise<void>,
  ): Promise<void> {
    const { tool } = trial;
    const hangup = new AbortController();
    ctx.res.once('close', () => hangup.abort());
    const input = toolCallService.validate(tool, boundedInput(trial, toolInput(tool, form)));
    using _slot = await takeSlot(ctx, hangup.signal);
    const caller = { account: await findAccount(tool.price), key: null };
    ctx.state.caller = caller;
    toolCallService.authorize(caller, tool);
    const outcome = await toolCallService.run({
      caller,
      tool,
      input,
      idempotencyKey: null,
      requestId: ctx.state.requestId,
      arrivedAt: ctx.state.arrivedAt,
      hangup: hangup.signal,
      max: Number.POSITIVE_INFINITY,
    });
    const { ending } = outcome;
    if ('error' in ending) throw ending.error;
    await deliver(ctx.res, outcome, () => {
      const output: unknown = JSON.parse(ending.output.toString());
      if (!isRecord(output)) throw new TypeError('the output of a tool must be an object');
      return show(output);
    });
  }

  for (const trial of trialsOf(registry)) {
    const path = trialPath(trial.tool.name);
    const page = async (input?: Record<string, string>, ending?: TrialEnding): Promise<string> => {
      // Loaded at the first request, as the other pages of the site.
      const { trialPage } = await import('./trialPage.ts');
      return trialPage({
        trial,
        baseUrl: deps.baseUrl().replace(/\/$/, ''),
        ...(input !== undefined && { input }),
        ...(ending !== undefined && { ending }),
      });
    };

    let empty: Promise<string> | undefined;
    router.get(path, async (ctx) => {
      ctx.set(SITE_HEADERS);
      empty ??= page();
      sendPage(ctx, await empty);
    });

    router.post(path, async (ctx) => {
      const { requestId } = ctx.state;
      ctx.set(SITE_HEADERS);
      ctx.set('Cache-Control', 'no-store');
      if (!isSameOrigin(ctx, publicUrl))
        return sendPage(ctx, await page(undefined, { failure: { message: CROSS_SITE, faults: [] } }), 403);
      let input: Record<string, string> = {};
      try {
        outages.refuse('mongodb');
        await limit(ctx.ip);
        const form = await readForm(ctx, FORM_BYTES);
        input = Object.fromEntries(
          trial.fields.map((name) => [name, (form.get(name) ?? '').slice(0, TRIAL_CHARACTERS)]),
        );
        await run(ctx, trial, form, async (output) => sendPage(ctx, await page(input, { output })));
      } catch (error) {
        const known = toServiceError(error, log, requestId);
        sendProblem(ctx, known, requestId);
        sendPage(ctx, await page(input, { failure: failureOf(known) }), ctx.status);
      }
    });
  }
}
