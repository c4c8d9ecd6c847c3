import type { BatchCallbackRow } from '../../../../schemas/batches.ts';
import type { BatchDoc } from '../../../../store/batches/batchDocs.ts';
import { actionButton } from '../../components/form.ts';
import { table } from '../../components/table.ts';
import { badge, moment, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { batchPath } from './paths.ts';

const TONES = { pending: 'plain', delivered: 'good', failed: 'bad' } as const;

const responseOf = ({ statusCode, error }: BatchCallbackRow): Html | null => {
  if (statusCode !== null) return html`HTTP status ${statusCode}`;
  return error === null ? null : typed(error);
};

/** The callbacks of a batch, newest first, each with a button that sends it again; null if there are none. */
export function callbacksView(
  viewer: Viewer,
  { _id }: BatchDoc,
  callbacks: readonly BatchCallbackRow[],
): Html | null {
  if (callbacks.length === 0) return null;
  return html`<h2>Callbacks</h2>
${table<BatchCallbackRow>(
  'Callbacks, newest first',
  [
    { title: 'Event', cell: ({ event }) => html`<code>${event}</code>` },
    { title: 'Occurred', isLabelled: true, cell: ({ createdAt }) => moment(createdAt) },
    { title: 'State', cell: ({ state }) => badge(state, TONES[state]) },
    { title: 'Attempts', numeric: true, cell: ({ attempts }) => number(attempts) },
    { title: 'Latest response', isLabelled: true, cell: responseOf },
    {
      title: 'Send again',
      isAction: true,
      cell: ({ id }) => actionButton(viewer, `${batchPath(_id)}/callbacks/${id}/resend`, 'Send again'),
    },
  ],
  callbacks,
  { isNamed: true, isCompact: true },
)}`;
}
