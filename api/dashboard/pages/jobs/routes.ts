import { ServiceError } from '../../../../schemas/errors.ts';
import { isRecord } from '../../../../schemas/isRecord.ts';
import { JOB_STATES, type JobState } from '../../../../schemas/jobs.ts';
import type { Context } from '../../../http/context.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, goTo, sendPage } from '../../frame/pageRouter.ts';
import { pageOf, single } from '../../frame/query.ts';
import { type JobContent, jobPage } from './jobView.ts';
import { jobsPage } from './listView.ts';
import { JOBS_PATH, jobPath } from './paths.ts';

const stateOf = (ctx: Context): JobState | undefined =>
  JOB_STATES.find((state) => state === single(ctx, 'state'));

/** Registers the pages of jobs, of which the rows of batches have one too. */
export function jobsRoutes({ pages, core: { registry }, jobService }: Dashboard): void {
  async function contentOf(ctx: Context, id: string): Promise<JobContent> {
    const hangup = new AbortController();
    ctx.res.once('close', () => hangup.abort());
    try {
      const { ending } = await jobService.outcome(ctx.state.caller, id, hangup.signal);
      if ('error' in ending) return { error: ending.error };
      const output: unknown = JSON.parse(ending.output.toString());
      if (!isRecord(output)) throw new TypeError('the output of a tool must be an object');
      return { output };
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'not_found')) throw error;
      return 'gone';
    }
  }

  pages.get(JOBS_PATH, async ({ ctx, viewer }) => {
    const page = pageOf(ctx);
    const state = stateOf(ctx);
    const shown = { viewer, state, cursor: page.cursor };
    const show = async () => {
      const jobs = await jobService.list(ctx.state.caller, state, page);
      sendPage(ctx, jobsPage({ ...shown, jobs }));
    };
    const none = { items: [], nextCursor: null };
    await attempt(ctx, show, (failure) => jobsPage({ ...shown, jobs: none, failure }));
  });

  pages.get(`${JOBS_PATH}/:id`, async ({ ctx, viewer, id }) => {
    const job = await jobService.find(ctx.state.caller, id);
    const content = job.endedAt === null ? null : await contentOf(ctx, id);
    sendPage(ctx, jobPage({ viewer, job, tool: registry.get(job.tool), content }));
  });

  pages.post(
    `${JOBS_PATH}/:id/cancel`,
    async ({ ctx, id }) => {
      await jobService.cancel(ctx.state.caller, id);
      goTo(ctx, jobPath(id));
    },
    { page: jobPath },
  );

  pages.post(
    `${JOBS_PATH}/:id/callbacks/resend`,
    async ({ ctx, id }) => {
      await jobService.resendCallbacks(ctx.state.caller, id);
      goTo(ctx, jobPath(id));
    },
    { page: jobPath },
  );
}
