import type { Registry } from '../../../../schemas/registry.ts';
import { UPDATE_LENGTH } from '../../../../schemas/status.ts';
import type { IncidentDoc } from '../../../../store/status/statusDocs.ts';
import { describe } from '../../../status/components.ts';
import { spanOf } from '../../../status/statusPage.ts';
import { alert, empty, type Failure, notice } from '../../components/alert.ts';
import { textField } from '../../components/field.ts';
import { postForm, referenceField } from '../../components/form.ts';
import { table } from '../../components/table.ts';
import { badge, moment, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { OPERATOR_PATH } from '../paths.ts';

export const INCIDENTS_PATH = `${OPERATOR_PATH}/incidents`;

export const incidentPath = (id: string): string => `${INCIDENTS_PATH}/${encodeURIComponent(id)}`;

const parent = { path: OPERATOR_PATH, name: 'Operator' };

const stateBadge = ({ endedAt }: IncidentDoc): Html =>
  endedAt === null ? badge('open', 'bad') : badge('resolved', 'good');

interface IncidentsPage {
  viewer: Viewer;
  incidents: readonly IncidentDoc[];
  registry: Registry;
}

export const operatorIncidentsPage = ({ viewer, incidents, registry }: IncidentsPage): string =>
  layout({
    title: 'Incidents',
    menu: { viewer, section: 'Operator' },
    parent,
    main: html`<p class="lead">Incidents open after two failed checks of a component and close after two successful ones. The
<a href="/status">status page</a> shows them with your updates.</p>
${
  incidents.length === 0
    ? empty(html`<p>There were no incidents in the recorded time.</p>`)
    : table<IncidentDoc>(
        'Incidents, newest first',
        [
          {
            title: 'Component',
            cell: ({ _id, component }) =>
              html`<a href="${incidentPath(_id)}">${describe(component, registry).name}</a>`,
          },
          { title: 'State', cell: stateBadge },
          { title: 'Time', cell: spanOf },
          { title: 'Failed checks', numeric: true, cell: ({ failures }) => number(failures) },
          { title: 'Updates', numeric: true, cell: ({ updates }) => number(updates.length) },
        ],
        incidents,
      )
}`,
  });

const LABELS = { text: 'Update' };

interface IncidentPage {
  viewer: Viewer;
  incident: IncidentDoc;
  registry: Registry;
  /** Idempotency reference, generated for each page: sending the form twice adds one update. */
  reference: string;
  draft: string;
  isUpdated: boolean;
  failure?: Failure;
}

/** For operators: an incident, with a form for an update. */
export const operatorIncidentPage = (page: IncidentPage): string => {
  const { viewer, incident, registry, reference, draft, isUpdated, failure = null } = page;
  const { updates } = incident;
  return layout({
    title: `Incident: ${describe(incident.component, registry).name}`,
    menu: { viewer, section: 'Operator' },
    parent: { path: INCIDENTS_PATH, name: 'Incidents' },
    main: html`${alert(failure, LABELS)}${isUpdated ? notice(html`<p>The update is on the status page within seconds.</p>`) : null}
<p class="lead">${stateBadge(incident)} ${spanOf(incident)}</p>
<h2>Updates</h2>
${
  updates.length === 0
    ? html`<p class="quiet">There are none yet.</p>`
    : html`<ul>
${updates.map(
  ({ at, text }) => html`<li>${moment(at.toISOString())}: ${typed(text)}</li>
`,
)}</ul>`
}
${postForm({
  action: incidentPath(incident._id),
  viewer,
  content: html`${referenceField(reference)}
${textField({
  name: 'text',
  label: LABELS.text,
  value: draft,
  hint: 'Public, and cannot be changed. Say what does not work, since when, and what you do about it.',
  attributes: { required: '', maxlength: UPDATE_LENGTH },
  failure,
})}
<button>Publish the update</button>`,
})}`,
  });
};
