import { randomUUID } from 'node:crypto';
import { isRecord } from '../../../../schemas/isRecord.ts';
import { secretFields, type ToolDefinition } from '../../../../schemas/tool.ts';
import { deliver } from '../../../calls/answer.ts';
import { DEFAULT_BODY_BYTES } from '../../../calls/toolRoutes.ts';
import type { Context } from '../../../http/context.ts';
import { ownOrigin } from '../../../http/origin.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { referenceOf } from '../../frame/formValues.ts';
import { attempt, type Submission, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { single } from '../../frame/query.ts';
import { toolInput } from './input.ts';
import { toolsPage } from './listView.ts';
import { ATTEMPT_ID, TOOLS_PATH, type Tried, toolPage, toolPath } from './toolView.ts';

/** Percent-encoding triples the size of a byte. */
const FORM_GROWTH = 3;

/** Registers the pages of the tools. A run from a form is an ordinary call without an API key. */
export function toolsRoutes({ pages, core, packs, toolCallService }: Dashboard): void {
  const { env, registry, accounts } = core;
  const tools = [...registry.values()];
  const baseUrlOf = (ctx: Context) => env.PUBLIC_URL ?? ownOrigin(ctx) ?? '';

  async function page(
    { ctx, viewer }: Visit,
    tool: ToolDefinition,
    more: Pick<Parameters<typeof toolPage>[0], 'input' | 'failure' | 'tried'>,
  ): Promise<string> {
    // The account is read again, because a run changes its balance.
    const account = (await accounts.find(viewer.account._id)) ?? viewer.account;
    return toolPage({
      viewer: { ...viewer, account },
      tool,
      available: account.balance - account.reserved,
      packs,
      baseUrl: baseUrlOf(ctx),
      attemptId: randomUUID(),
      requestId: ctx.state.requestId,
      ...more,
    });
  }

  async function tryOut(
    { ctx, form }: Submission,
    tool: ToolDefinition,
    show: (tried: Tried) => Promise<void>,
  ): Promise<void> {
    const { caller, requestId, arrivedAt } = ctx.state;
    const hangup = new AbortController();
    ctx.res.once('close', () => hangup.abort());
    toolCallService.authorize(caller, tool);
    const attemptId = referenceOf(form, ATTEMPT_ID);
    const outcome = await toolCallService.run({
      caller,
      tool,
      input: toolCallService.validate(tool, toolInput(tool, form)),
      // Calls with secret fields are not replayable, so a form that is submitted twice runs twice.
      idempotencyKey: attemptId !== null && secretFields(tool).length === 0 ? `try-${attemptId}` : null,
      requestId,
      formId: attemptId ?? undefined,
      arrivedAt,
      hangup: hangup.signal,
      max: Number.POSITIVE_INFINITY,
    });
    const { ending, callId, charged, replayed, reused } = outcome;
    if ('error' in ending) throw ending.error;
    await deliver(ctx.res, outcome, () => {
      const output: unknown = JSON.parse(ending.output.toString());
      if (!isRecord(output)) throw new TypeError('the output of a tool must be an object');
      return show({ output, callId, charged, replayed, reused: reused !== null });
    });
  }

  pages.get(TOOLS_PATH, async ({ ctx, viewer }) =>
    sendPage(ctx, toolsPage({ viewer, tools, packs, search: single(ctx, 'q') })),
  );

  for (const tool of tools) {
    const path = toolPath(tool.name);
    const example = tool.examples[0]?.input ?? {};
    const secrets = secretFields(tool);
    const withoutSecrets = (input: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(input).filter(([name]) => !secrets.includes(name)));

    pages.get(path, async (visit) => {
      const input = single(visit.ctx, 'example') === '' ? {} : withoutSecrets(example);
      sendPage(visit.ctx, await page(visit, tool, { input }));
    });

    pages.post(
      path,
      async (submission) => {
        const input = withoutSecrets(toolInput(tool, submission.form));
        const show = async (tried: Tried) =>
          sendPage(submission.ctx, await page(submission, tool, { input, tried }));
        await attempt(
          submission.ctx,
          () => tryOut(submission, tool, show),
          (failure) => page(submission, tool, { input, failure }),
        );
      },
      { formBytes: (tool.limits.bodyBytes ?? DEFAULT_BODY_BYTES) * FORM_GROWTH },
    );
  }
}
