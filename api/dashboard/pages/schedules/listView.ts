import type { ScheduleRow } from '../../../../schemas/schedules.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { alert, empty, type Failure } from '../../components/alert.ts';
import { pager } from '../../components/pager.ts';
import { suspension } from '../../components/suspension.ts';
import { table } from '../../components/table.ts';
import { moment, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { SCHEDULES_PATH, schedulePath } from './paths.ts';
import { scheduleBadge } from './state.ts';

interface SchedulesPage {
  viewer: Viewer;
  schedules: Page<ScheduleRow>;
  cursor: string | undefined;
  failure?: Failure;
}

const scheduleTable = (schedules: readonly ScheduleRow[]): Html =>
  table<ScheduleRow>(
    'Schedules, newest first',
    [
      { title: 'Name', cell: ({ id, name }) => html`<a href="${schedulePath(id)}">${typed(name)}</a>` },
      { title: 'State', cell: scheduleBadge },
      { title: 'Tool', cell: ({ tools }) => tools.join(', ') },
      { title: 'Times', cell: ({ cron, timeZone }) => html`<code>${cron}</code> ${timeZone}` },
      { title: 'Price of a run', numeric: true, cell: ({ cost }) => number(cost) },
      { title: 'Next run', isLabelled: true, cell: ({ nextAt }) => moment(nextAt, 'none') },
    ],
    schedules,
    { isCompact: true },
  );

/** The schedules of an account. */
export const schedulesPage = ({ viewer, schedules, cursor, failure }: SchedulesPage): string =>
  layout({
    title: 'Schedules',
    menu: { viewer, section: 'Schedules' },
    main: html`${alert(failure ?? null)}${suspension(viewer.account)}
<p class="lead">A schedule runs a job or a batch again and again, and can tell what has changed. <a href="/docs/schedules#create-a-schedule">Programs create schedules</a>.</p>
${schedules.items.length === 0 ? empty(html`<p>There are no schedules yet.</p>`) : scheduleTable(schedules.items)}
${pager({ path: SCHEDULES_PATH, query: {}, cursor, nextCursor: schedules.nextCursor })}`,
  });
