import type { CallDoc } from '../../../../store/calls/callDocs.ts';
import { callRow } from '../../../account/rows.ts';
import { copyable, count, duration, moment, typed } from '../../components/text.ts';
import { html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { outcome } from '../../pages/calls/callView.ts';
import { accountPath, OPERATOR_PATH } from '../paths.ts';

interface OperatorCallPage {
  viewer: Viewer;
  call: CallDoc;
  /** Address of the owner. */
  email: string;
}

/** For operators: a call of any account. */
export function operatorCallPage({ viewer, call, email }: OperatorCallPage): string {
  const row = callRow(call);
  return layout({
    title: 'Call',
    menu: { viewer, section: 'Operator' },
    parent: { path: OPERATOR_PATH, name: 'Operator' },
    main: html`<dl class="facts">
<div><dt>Account</dt> <dd><a href="${accountPath(call.accountId)}">${typed(email)}</a></dd></div>
<div><dt>Outcome</dt> <dd>${outcome(row)}</dd></div>
<div><dt>Tool</dt> <dd>${call.tool}</dd></div>
<div><dt>Call id</dt> <dd>${copyable(call._id)}</dd></div>
<div><dt>Request id</dt> <dd>${copyable(call.requestId)}</dd></div>
<div><dt>Key</dt> <dd>${call.keyPrefix === null ? 'none: called from the dashboard' : html`<code>${call.keyPrefix}…</code>`}</dd></div>
<div><dt>Price</dt> <dd>${count(call.cost, 'credit')}</dd></div>
<div><dt>Charged</dt> <dd>${count(call.charged, 'credit')}</dd></div>
<div><dt>Accepted</dt> <dd>${moment(row.startedAt)}</dd></div>
<div><dt>Ended</dt> <dd>${moment(call.finishedAt?.toISOString() ?? null, 'still running')}</dd></div>
<div><dt>Duration</dt> <dd>${row.durationMs === null ? '–' : duration(row.durationMs)}</dd></div>
</dl>
<p class="quiet">The log lines of the request have its request id as <code>requestId</code>. The call id is the id of its workflow in
Temporal.</p>`,
  });
}
