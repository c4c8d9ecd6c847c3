import { Readable } from 'node:stream';
import { listCalls } from '../../../../schemas/account.ts';
import { ServiceError } from '../../../../schemas/errors.ts';
import type { Account } from '../../../../store/accounts/accountDocs.ts';
import type { PageRequest } from '../../../../store/mongo/pages.ts';
import { CALLS_FILE, callExport, keyIdOf } from '../../../account/callExport.ts';
import { callRow, keyRow, refusalRow } from '../../../account/rows.ts';
import type { Context } from '../../../http/context.ts';
import { createValidator, type Validate } from '../../../http/validator.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, goTo, sendPage } from '../../frame/pageRouter.ts';
import { NEWEST_KEYS, pageOf, single } from '../../frame/query.ts';
import { refusedRequest } from '../refused/view.ts';
import { CALLS_PATH, callPage, callPath } from './callView.ts';
import { CONTENTS_PATH } from './contentsView.ts';
import { CALLS_FILE_PATH, type CallQuery, callsPage } from './listView.ts';
import { runRoutes } from './runRoutes.ts';

type CallsQuery = NonNullable<NonNullable<typeof listCalls.types>['query']>;

const NEWEST_REFUSALS: PageRequest = { limit: 3 };
const DAY_MS = 86_400_000;

/** The last time with a four-digit year, which the schema requires. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** Converts a day to the timestamp of its start, plus a number of days. Invalid days are kept for the validator. */
function startOfDay(day: string, daysLater = 0): string {
  const start = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(start) ? day : new Date(Math.min(start + daysLater * DAY_MS, LAST_MS)).toISOString();
}

/** Converts the form to the query of the Account API, whose schema validates it. */
const asQuery = ({ tool, state, key, from, to }: CallQuery, page: PageRequest): Record<string, unknown> => ({
  ...page,
  ...(tool !== '' && { tool }),
  ...(state !== '' && { state }),
  ...(key !== '' && { key }),
  ...(from !== '' && { from: startOfDay(from) }),
  ...(to !== '' && { to: startOfDay(to, 1) }),
});

const queryOf = (ctx: Context): CallQuery => ({
  tool: single(ctx, 'tool'),
  state: single(ctx, 'state'),
  key: single(ctx, 'key'),
  from: single(ctx, 'from'),
  to: single(ctx, 'to'),
});

const asDate = (iso: string | undefined): Date | undefined => (iso === undefined ? undefined : new Date(iso));

export function callsRoutes(dashboard: Dashboard): void {
  const { pages, core, connections, contents } = dashboard;
  const { lists, registry } = core;
  runRoutes(dashboard);
  const validate: Validate<CallsQuery> = createValidator()<CallsQuery>(
    listCalls.query ?? { type: 'object', properties: {}, required: [], additionalProperties: false },
  );
  const toolNames = [...registry.keys()];

  /** Validates the filter of the form. @throws ServiceError invalid_input */
  function selectionOf(query: CallQuery, page: PageRequest) {
    const { from, to, tool, state, key, ...pageRequest } = validate(asQuery(query, page));
    return { filter: { tool, state, keyId: keyIdOf(key), from: asDate(from), to: asDate(to) }, pageRequest };
  }

  /** The keys and connections that the filter offers. */
  async function keysOf(account: Account) {
    const { items } = await lists.keys(account._id, NEWEST_KEYS);
    return [...items, ...(await connections.list(account._id))].map((key) => keyRow(key, account));
  }

  pages.get(CALLS_PATH, async ({ ctx, viewer }) => {
    const accountId = viewer.account._id;
    const id = single(ctx, 'id').trim();
    const found = id === '' ? null : await lists.call(accountId, id);
    if (found !== null) return goTo(ctx, callPath(found._id));
    if (id !== '' && (await lists.refusal(accountId, id)) !== null) return goTo(ctx, refusedRequest(id));
    const page = pageOf(ctx);
    const { cursor } = page;
    const query = queryOf(ctx);
    const keys = await keysOf(viewer.account);
    const contentsNews = single(ctx, 'contents');
    const shown = {
      viewer,
      cursor,
      query,
      toolNames,
      keys,
      contentsNews,
      ...(id !== '' && { unknownId: id }),
    };
    const show = async () => {
      const { filter, pageRequest } = selectionOf(query, page);
      const { items, nextCursor } = await lists.calls(accountId, filter, pageRequest);
      // They have neither a state nor a place among the pages of calls.
      const isFirst = cursor === undefined && query.state === '' && query.from === '' && query.to === '';
      const refused = isFirst ? await lists.refusals(accountId, filter, NEWEST_REFUSALS) : null;
      const refusals = (refused?.items ?? []).map(refusalRow);
      sendPage(ctx, callsPage({ ...shown, refusals, calls: { items: items.map(callRow), nextCursor } }));
    };
    const empty = { items: [], nextCursor: null };
    await attempt(ctx, show, (failure) => callsPage({ ...shown, calls: empty, failure }));
  });

  // Before the page of a call, whose path also matches.
  pages.get(CALLS_FILE_PATH, async ({ ctx, viewer }) => {
    const query = queryOf(ctx);
    const send = async () => {
      const { filter } = selectionOf(query, pageOf(ctx));
      const calls = await lists.allCalls(viewer.account._id, filter);
      ctx.attachment(CALLS_FILE);
      ctx.type = 'text/csv';
      ctx.body = Readable.from(callExport(calls));
    };
    const keys = await keysOf(viewer.account);
    const shown = { viewer, cursor: undefined, query, toolNames, keys, contentsNews: '' };
    const empty = { items: [], nextCursor: null };
    await attempt(ctx, send, (failure) => callsPage({ ...shown, calls: empty, failure }));
  });

  pages.post(
    CONTENTS_PATH,
    async ({ ctx, viewer, form }) => {
      const keeps = form.get('keep') === 'on';
      await contents.setKeeping(viewer.account._id, keeps);
      goTo(ctx, `${CALLS_PATH}?contents=${keeps ? 'on' : 'off'}#contents`);
    },
    { page: () => CALLS_PATH },
  );

  pages.get(`${CALLS_PATH}/:id`, async ({ ctx, viewer, id }) => {
    const accountId = viewer.account._id;
    const [call, keys] = await Promise.all([lists.call(accountId, id), keysOf(viewer.account)]);
    if (call === null) throw new ServiceError('not_found');
    const keyName = keys.find((key) => key.id === call.keyId)?.name ?? null;
    const endedAt = call.finishedAt?.toISOString() ?? null;
    const { requestId } = call;
    const content = viewer.account.keepsContents ? await contents.find(accountId, call._id) : null;
    const asked = single(ctx, 'cancel');
    const cancellation = asked === 'sent' || asked === 'failed' ? asked : null;
    const tool = registry.get(call.tool);
    sendPage(
      ctx,
      callPage({ viewer, call: callRow(call), requestId, endedAt, keyName, content, tool, cancellation }),
    );
  });
}
