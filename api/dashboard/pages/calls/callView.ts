import type { CallRow } from '../../../../schemas/accountRows.ts';
import { ERRORS, isErrorCode } from '../../../../schemas/errors.ts';
import type { ToolDefinition } from '../../../../schemas/tool.ts';
import type { KeptContent } from '../../../../store/calls/callContents.ts';
import { notice } from '../../components/alert.ts';
import { actionButton } from '../../components/form.ts';
import { remedyOf } from '../../components/remedy.ts';
import { badge, copyable, count, duration, number, preciseMoment, prose } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { contentView } from './contentsView.ts';
import { phaseView } from './phases.ts';

export const CALLS_PATH = '/dashboard/calls';

/** Reports the running call of a form, by the id of the form. */
export const RUNS_PATH = '/dashboard/runs';

export const callPath = (id: string): string => `${CALLS_PATH}/${encodeURIComponent(id)}`;

const TONES = { charged: 'good', refunded: 'bad', refused: 'bad', running: 'plain' } as const;

/** The state of a call in words. `refunded` would sound as if its owner had paid: only its reservation was returned. */
export const stateWord = (state: CallRow['state']): string => (state === 'refunded' ? 'failed' : state);

const stateBadge = ({ state }: Pick<CallRow, 'state'>): Html => badge(stateWord(state), TONES[state]);

export const outcome = ({ state, code }: CallRow): Html =>
  html`${stateBadge({ state })}${
    code === null
      ? null
      : html`${isErrorCode(code) ? ` ${ERRORS[code].title}` : null} <a href="/docs/errors#${code}"><code>${code}</code></a>`
  }`;

interface CallPage {
  viewer: Viewer;
  call: CallRow;
  requestId: string;
  endedAt: string | null;
  /** Name of the key; null for calls from the dashboard and deleted keys. */
  keyName: string | null;
  /** The kept input and output; null if there are none. */
  content: KeptContent | null;
  /** Undefined if the tool no longer exists. */
  tool: ToolDefinition | undefined;
  /** Whether a cancellation that the owner has just asked for was sent; null: the owner has asked for none. */
  cancellation: 'sent' | 'failed' | null;
}

const REUSED = 'The call returned the result of an earlier call with the same input. Nothing was charged.';

const EXPLANATION = {
  charged: 'The call returned a result and was charged.',
  refunded: 'The call returned no result. Its reserved credits were returned; nothing was charged.',
  refused: 'The call was refused before credits were reserved. Nothing was charged.',
  running: 'The call is still running. Its price is reserved; it is charged only if there is a result.',
} as const;

/** Tells what became of a cancellation. */
function cancelNews({ state, code }: CallRow, wasSent: boolean): string {
  if (state === 'running' && !wasSent)
    return 'The call has not started yet, so it could not be cancelled. Try again in a few seconds.';
  if (state === 'charged')
    return 'The call returned its result before it could be cancelled, and was charged.';
  if (state === 'running')
    return 'The cancellation was requested. A request that a worker has already sent to a mail server, or with a method such as POST, is completed.';
  return code === 'cancelled'
    ? 'The call was cancelled.'
    : 'The call had failed before it could be cancelled.';
}

/** Faults of the input, which this page does not have. */
const FAULTY = html`<p><strong>${ERRORS.invalid_input.title}.</strong> The input does not match what the tool accepts. The response to the call,
or the page of its job or row, names the fields.</p>`;

function errorOf(code: string): Html | null {
  if (!isErrorCode(code)) return null;
  return html`<h2>What went wrong</h2>
${
  code === 'invalid_input'
    ? FAULTY
    : html`<p><strong>${ERRORS[code].title}.</strong> ${prose(ERRORS[code].detail)}</p>
${remedyOf(code)}`
}
<p><a href="/docs/errors#${code}">About <code>${code}</code></a></p>`;
}

function keyOf({ call, keyName }: CallPage): Html {
  if (call.keyPrefix === null) return html`none: called from the dashboard`;
  return html`${keyName === null ? null : html`<bdi>${keyName}</bdi> `}<code>${call.keyPrefix}…</code>`;
}

/** One call: its ids, outcome, times and price. */
export function callPage(page: CallPage): string {
  const { viewer, call, requestId, endedAt } = page;
  return layout({
    title: `${call.tool} call`,
    menu: { viewer, section: 'Calls' },
    parent: { path: CALLS_PATH, name: 'Calls' },
    main: html`${page.cancellation === null ? null : notice(html`<p>${cancelNews(call, page.cancellation === 'sent')}</p>`)}
<p class="lead">${stateBadge(call)} ${call.resultFrom === null ? EXPLANATION[call.state] : REUSED}</p>
${call.state === 'running' ? actionButton(viewer, `${callPath(call.id)}/cancel`, 'Cancel the call') : null}
<dl class="facts">
<div><dt>Tool</dt> <dd><a href="/dashboard/tools/${call.tool}">${call.tool}</a></dd></div>
<div><dt>Call id</dt> <dd>${copyable(call.id)}</dd></div>
<div><dt>Request id</dt> <dd>${copyable(requestId)}</dd></div>
<div><dt>Key</dt> <dd>${keyOf(page)}</dd></div>
<div><dt>Price</dt> <dd>${count(call.cost, 'credit')}</dd></div>
<div><dt>Charged</dt> <dd>${count(call.charged, 'credit')}${
      call.state === 'charged'
        ? html` <a href="/api/v1/account/calls/${call.id}/receipt">Signed receipt</a>`
        : null
    }</dd></div>
${
  call.resultFrom === null
    ? null
    : html`<div><dt>Result from</dt> <dd><a href="${callPath(call.resultFrom)}"><code>${call.resultFrom}</code></a></dd></div>`
}
<div><dt>Accepted</dt> <dd>${preciseMoment(call.startedAt)}</dd></div>
<div><dt>Ended</dt> <dd>${endedAt === null ? html`<span class="quiet">still running</span>` : preciseMoment(endedAt)}</dd></div>
<div><dt>Duration</dt> <dd>${
      call.durationMs === null
        ? html`–`
        : html`${duration(call.durationMs)}${call.durationMs < 1000 ? null : html` <span class="quiet">(${number(call.durationMs)}&nbsp;ms)</span>`}`
    }</dd></div>
</dl>
${call.code === null ? null : errorOf(call.code)}
${
  call.phases === null
    ? null
    : html`<h2>Phases</h2>
${phaseView(call.phases, call)}`
}
${contentView(viewer, call, page.content, page.tool)}
<p class="quiet">The log of the service has this call under its request id. <a href="/contact">Contact</a></p>`,
  });
}
