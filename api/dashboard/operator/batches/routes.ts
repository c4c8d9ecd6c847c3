import { ServiceError } from '../../../../schemas/errors.ts';
import { createOpenWork } from '../../../../store/batches/openWork.ts';
import type { Caller } from '../../../http/context.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, goTo, type Submission, sendPage } from '../../frame/pageRouter.ts';
import { pageOf, single } from '../../frame/query.ts';
import { OPEN_WORK_PATH } from '../paths.ts';
import { openWorkPage } from './view.ts';

/** Jobs that run, and jobs that wait, that are shown. */
const MOST_JOBS = 50;

/** Registers the operator's page of the batches and jobs of all accounts. */
export function batchesRoutes(dashboard: Dashboard): void {
  const { operatorPages: pages, core, batchService, jobService } = dashboard;
  const { store, accounts, log } = core;
  const work = createOpenWork(store);

  pages.get(OPEN_WORK_PATH, async ({ ctx, viewer }) => {
    const page = pageOf(ctx);
    const cancelled = (['batch', 'job'] as const).find((kind) => kind === single(ctx, 'cancelled')) ?? null;
    const account = single(ctx, 'account') || null;
    const jobs = await work.jobs(MOST_JOBS, account);
    const shown = { viewer, account, jobs, mostJobs: MOST_JOBS, cursor: page.cursor, cancelled };
    const emailsOf = (rows: readonly { accountId: string }[]) =>
      accounts.emailsOf([...new Set(rows.map(({ accountId }) => accountId))]);
    const show = async () => {
      const batches = await work.batches(page, account);
      const emails = await emailsOf([...jobs, ...batches.items]);
      sendPage(ctx, openWorkPage({ ...shown, batches, emails }));
    };
    const none = { items: [], nextCursor: null };
    await attempt(ctx, show, async (failure) =>
      openWorkPage({ ...shown, batches: none, emails: await emailsOf(jobs), failure }),
    );
  });

  /** The owner of a batch or job, as whom it is cancelled. @throws ServiceError not_found */
  async function ownerOf(kind: 'batches' | 'jobs', id: string): Promise<Caller> {
    const accountId = await work.accountOf(kind, id);
    const account = accountId === null ? null : await accounts.find(accountId);
    if (account === null) throw new ServiceError('not_found');
    return { account, key: null };
  }

  const options = { page: () => OPEN_WORK_PATH };

  const cancelBatch = async ({ ctx, viewer, id }: Submission) => {
    await batchService.cancel(await ownerOf('batches', id), id);
    log.info({ batchId: id, operator: viewer.user.id }, 'an operator cancelled a batch');
    goTo(ctx, `${OPEN_WORK_PATH}?cancelled=batch`);
  };
  pages.post(`${OPEN_WORK_PATH}/:id/cancel`, cancelBatch, options);

  const cancelJob = async ({ ctx, viewer, id }: Submission) => {
    await jobService.cancel(await ownerOf('jobs', id), id);
    log.info({ jobId: id, operator: viewer.user.id }, 'an operator cancelled a job');
    goTo(ctx, `${OPEN_WORK_PATH}?cancelled=job`);
  };
  pages.post(`${OPEN_WORK_PATH}/jobs/:id/cancel`, cancelJob, options);
}
