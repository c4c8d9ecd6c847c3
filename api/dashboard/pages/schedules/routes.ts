import { randomUUID } from 'node:crypto';
import type { Failure } from '../../components/alert.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { referenceOf } from '../../frame/formValues.ts';
import { attempt, goTo, type Submission, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { pageOf } from '../../frame/query.ts';
import { schedulesPage } from './listView.ts';
import { SCHEDULES_PATH, schedulePath } from './paths.ts';
import { schedulePage } from './scheduleView.ts';

const SCHEDULE = `${SCHEDULES_PATH}/:id`;
const NO_ITEMS = { items: [], nextCursor: null };

/** Registers the pages of schedules: the list, and each schedule with its runs. */
export function schedulesRoutes({ pages, scheduleService: schedules }: Dashboard): void {
  pages.get(SCHEDULES_PATH, async ({ ctx, viewer }) => {
    const page = pageOf(ctx);
    const shown = { viewer, cursor: page.cursor };
    const show = async () =>
      sendPage(ctx, schedulesPage({ ...shown, schedules: await schedules.list(ctx.state.caller, page) }));
    await attempt(ctx, show, (failure) => schedulesPage({ ...shown, schedules: NO_ITEMS, failure }));
  });

  /** Renders a schedule as it is now. */
  async function onePage({ ctx, viewer, id }: Visit, page = pageOf(ctx), failure?: Failure): Promise<string> {
    const { caller } = ctx.state;
    return schedulePage({
      viewer,
      schedule: await schedules.get(caller, id),
      runs: await schedules.runs(caller, id, page),
      cursor: page.cursor,
      reference: randomUUID(),
      ...(failure && { failure }),
    });
  }

  pages.get(SCHEDULE, async (visit) => {
    const { ctx } = visit;
    const show = async () => sendPage(ctx, await onePage(visit));
    const { limit } = pageOf(ctx);
    await attempt(ctx, show, (failure) => onePage(visit, { limit }, failure));
  });

  /** Registers an action on a schedule, which is shown afterwards. */
  const action = (name: string, act: (visit: Submission) => Promise<unknown>, next = schedulePath) =>
    pages.post(
      `${SCHEDULE}/${name}`,
      async (visit) => {
        const apply = async () => {
          await act(visit);
          goTo(visit.ctx, next(visit.id));
        };
        await attempt(visit.ctx, apply, (failure) =>
          onePage(visit, { limit: pageOf(visit.ctx).limit }, failure),
        );
      },
      { page: schedulePath },
    );

  action('pause', ({ ctx, id }) => schedules.change(ctx.state.caller, id, { paused: true }));
  action('resume', ({ ctx, id }) => schedules.change(ctx.state.caller, id, { paused: false }));
  action('trigger', ({ ctx, id, form }) => {
    const reference = referenceOf(form);
    return schedules.trigger(ctx.state.caller, id, reference === null ? null : `dashboard-${reference}`);
  });
  action(
    'delete',
    ({ ctx, id }) => schedules.remove(ctx.state.caller, id),
    () => SCHEDULES_PATH,
  );
}
