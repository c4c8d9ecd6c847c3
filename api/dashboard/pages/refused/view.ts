import type { RefusalRow } from '../../../../schemas/accountRows.ts';
import { ERRORS, type Fault, isErrorCode } from '../../../../schemas/errors.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { empty } from '../../components/alert.ts';
import { pager } from '../../components/pager.ts';
import { remedyOf } from '../../components/remedy.ts';
import { table } from '../../components/table.ts';
import { moment, number, prose, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';

export const REFUSED_PATH = '/dashboard/calls/refused';

/** A row, with the id of its key where the page knows it. */
interface KeyedRefusal extends RefusalRow {
  keyId?: string | null;
}

/** Link to the refusals that include a request. */
export const refusedRequest = (requestId: string): string =>
  `${REFUSED_PATH}?${new URLSearchParams({ request: requestId })}`;

const faultItem = ({ pointer, message }: Fault): Html =>
  html`<li><code>${pointer === '' ? '/' : pointer}</code> ${prose(message)}</li>`;

/** Describes a refusal: the faults of the input, or else the error and its remedy. */
function reasonOf({ code, faults, keyId }: KeyedRefusal): Html {
  if (faults.length > 0) return html`<ul class="faults">${faults.map(faultItem)}</ul>`;
  if (code === null || !isErrorCode(code))
    return html`More kinds of requests were refused in this hour than are listed one by one.`;
  return html`<p>${ERRORS[code].detail}</p>${remedyOf(code, keyId ?? null)}`;
}

const codeOf = ({ code }: RefusalRow): Html =>
  code === null
    ? html`various`
    : html`${isErrorCode(code) ? html`${ERRORS[code].title} ` : null}<a class="code" href="/docs/errors#${code}"><code>${code}</code></a>`;

/** A table of refused requests. */
export const refusalTable = (refusals: readonly KeyedRefusal[], caption: string): Html =>
  table<KeyedRefusal>(
    caption,
    [
      { title: 'Latest', cell: ({ lastAt }) => moment(lastAt) },
      { title: 'Requests', numeric: true, cell: ({ count }) => number(count) },
      {
        title: 'Tool',
        cell: ({ tool }) =>
          tool === null
            ? html`<span class="quiet">–</span>`
            : html`<a href="/dashboard/tools/${tool}">${tool}</a>`,
      },
      { title: 'Error', cell: codeOf },
      { title: 'Reason', cell: reasonOf },
      {
        title: 'Key',
        isLabelled: true,
        cell: ({ keyPrefix }) => (keyPrefix === null ? '–' : html`<code>${keyPrefix}</code>`),
      },
    ],
    refusals,
    { isCompact: true },
  );

interface RefusedPage {
  viewer: Viewer;
  refusals: Page<KeyedRefusal>;
  cursor: string | undefined;
  /** The request that was searched for. */
  requestId: string;
}

/** The refused requests of an account. */
export const refusedPage = ({ viewer, refusals, cursor, requestId }: RefusedPage): string =>
  layout({
    title: 'Refused requests',
    menu: { viewer, section: 'Calls' },
    parent: { path: '/dashboard/calls', name: 'Calls' },
    main: html`<p class="lead">Requests with your keys that were refused before they became a call. Nothing was charged.</p>
${
  requestId === ''
    ? null
    : html`<p>The request ${typed(requestId)} is one of these. <a href="${REFUSED_PATH}">Show all</a></p>`
}
${
  refusals.items.length === 0
    ? empty(html`<p>No requests were refused in the last 7 days.</p>`)
    : refusalTable(refusals.items, 'Refused requests by hour, newest first')
}
${pager({ path: REFUSED_PATH, query: {}, cursor, nextCursor: refusals.nextCursor })}
<p class="quiet">A row counts the requests of an hour with the same key, tool and error. Rows are kept for 7 days, at most 500, and
contain no input. New requests appear within seconds.</p>`,
  });
