import type { Registry } from '../../schemas/registry.ts';
import type { ComponentState } from '../../schemas/status.ts';
import type { IncidentDoc } from '../../store/status/statusDocs.ts';
import { count, moment } from '../dashboard/components/text.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { atomFeed } from '../site/atom.ts';
import { plainLayout, SITE_NAME } from '../site/layout.ts';
import { describe, STATE_WORDS } from './components.ts';
import type { ComponentStatus, DayStatus, Status } from './status.ts';
import { dayText, uptimeBars, uptimeText } from './uptimeBars.ts';

export const STATUS_PATH = '/status';
/** The incidents as an Atom feed. */
export const STATUS_FEED = `${STATUS_PATH}.atom`;

const MINUTE_MS = 60_000;
const TONES = { ok: 'good', failed: 'bad', unknown: 'unknown' } as const;
type Tone = (typeof TONES)[ComponentState];

/** The state of the whole service in a sentence. */
export function headline({ components }: Pick<Status, 'components'>): { text: string; tone: Tone } {
  const failed = components.filter(({ state }) => state === 'failed').length;
  if (failed > 0) return { text: `${count(failed, 'component is', 'components are')} down.`, tone: 'bad' };
  return components.some(({ state }) => state === 'unknown')
    ? { text: 'The state of some components is unknown.', tone: 'unknown' }
    : { text: 'All components are operational.', tone: 'good' };
}

function component({ component: id, state, days }: ComponentStatus, registry: Registry): Html {
  const { name, text } = describe(id, registry);
  return html`<li>
<h3>${name}</h3> <span class="state ${TONES[state]}">${STATE_WORDS[state]}</span>
<p>${text}</p>
${uptimeBars(name, days)}
<p class="axis" aria-hidden="true"><span>${count(days.length, 'day')} ago</span><span>${uptimeText(days)}</span><span>today</span></p>
</li>
`;
}

const dayCell = (day: DayStatus | undefined): Html =>
  html`<td>${day === undefined ? null : dayText(day)}</td>`;

function dayTable(components: readonly ComponentStatus[], registry: Registry): Html {
  const days = components[0]?.days ?? [];
  const rows = days.map(
    (
      { day },
      index,
    ) => html`<tr><th scope="row">${day}</th>${components.map(({ days: own }) => dayCell(own[index]))}</tr>
`,
  );
  return html`<details><summary>View as table</summary>
<div class="wide" tabindex="0" role="group" aria-label="Uptime by day">
<table class="days">
<thead><tr><th scope="col">Day (UTC)</th>${components.map(({ component: id }) => html`<th scope="col">${describe(id, registry).name}</th>`)}</tr></thead>
<tbody>
${rows.toReversed()}</tbody>
</table>
</div>
</details>`;
}

/** The time span of an incident in words. */
export const spanOf = ({ startedAt, endedAt }: Pick<IncidentDoc, 'startedAt' | 'endedAt'>): Html =>
  endedAt === null
    ? html`Since ${moment(startedAt.toISOString())}`
    : html`${moment(startedAt.toISOString())} to ${moment(endedAt.toISOString())}, ${count(Math.round((endedAt.getTime() - startedAt.getTime()) / MINUTE_MS), 'minute')}`;

/** When an incident was, and the updates of operators. */
const detailsOf = (row: IncidentDoc): Html => html`<p>${spanOf(row)}</p>
${
  row.updates.length === 0
    ? null
    : html`<ul class="updates">
${row.updates.map(
  ({ at, text }) => html`<li>${moment(at.toISOString())}: <bdi>${text}</bdi></li>
`,
)}</ul>`
}
`;

const titleOf = ({ component: id }: IncidentDoc, registry: Registry): string =>
  `Outage: ${describe(id, registry).name}`;

const stateOf = ({ endedAt }: IncidentDoc): 'open' | 'resolved' => (endedAt === null ? 'open' : 'resolved');

const incident = (row: IncidentDoc, registry: Registry): Html => html`<li>
<h3>${titleOf(row, registry)}</h3> <span class="state ${stateOf(row) === 'open' ? 'bad' : 'good'}">${stateOf(row)}</span>
${detailsOf(row)}</li>
`;

/** The time of the newest change of an incident. */
const changedAt = ({ startedAt, endedAt, updates }: IncidentDoc): Date =>
  new Date(Math.max(startedAt.getTime(), endedAt?.getTime() ?? 0, ...updates.map(({ at }) => at.getTime())));

/** The incidents as an Atom feed, with an entry for each incident, which changes with it. */
export const statusFeed = ({ incidents }: Pick<Status, 'incidents'>, registry: Registry, baseUrl: string) =>
  atomFeed({
    title: `Incidents of the ${SITE_NAME}`,
    author: SITE_NAME,
    path: STATUS_FEED,
    page: STATUS_PATH,
    baseUrl,
    entries: incidents.map((row) => ({
      id: `${baseUrl}${STATUS_FEED}#${row._id}`,
      title: `${titleOf(row, registry)} (${stateOf(row)})`,
      updated: changedAt(row),
      link: `${baseUrl}${STATUS_PATH}#incidents`,
      html: detailsOf(row).markup,
    })),
  });

const incidentList = ({ incidents, components }: Status, registry: Registry): Html =>
  incidents.length === 0
    ? components.some(({ state }) => state === 'failed')
      ? html`<p>There is no incident yet: one opens when a second check in a row fails.</p>`
      : html`<p>No incidents in the recorded time.</p>`
    : html`<ol class="incidents">
${incidents.map((row) => incident(row, registry))}</ol>`;

export function statusPage(status: Status, registry: Registry, baseUrl: string): string {
  const { components, checkedAt, isHistoryCurrent } = status;
  const { text, tone } = headline(status);
  return plainLayout(
    {
      path: STATUS_PATH,
      title: `Status – ${SITE_NAME}`,
      description: `Current state, uptime and incidents of the ${SITE_NAME}.`,
      baseUrl,
      feed: STATUS_FEED,
    },
    html`<h1>Status</h1>
<p class="overall ${tone}"><strong>${text}</strong> Checked ${moment(checkedAt.toISOString())}.</p>
${
  isHistoryCurrent
    ? null
    : html`<p class="overall unknown">The history cannot be read at the moment. The days and incidents below can be out of date or missing.</p>`
}
<h2 id="components">Components</h2>
<ul class="components">
${components.map((it) => component(it, registry))}</ul>
<p class="quiet">The service checks itself every minute. A day is red or amber if a component failed, and grey if it was not
checked.</p>
${dayTable(components, registry)}
<h2 id="incidents">Incidents</h2>
${incidentList(status, registry)}
<p class="quiet">The same as JSON: <a href="${STATUS_PATH}.json">${STATUS_PATH}.json</a>. The incidents as an Atom feed: <a href="${STATUS_FEED}">${STATUS_FEED}</a></p>`,
    'service',
  );
}
