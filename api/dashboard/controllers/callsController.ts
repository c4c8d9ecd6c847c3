import { listCalls } from '../../../schemas/account.ts';
import { ServiceError } from '../../../schemas/errors.ts';
import type { Registry } from '../../../schemas/registry.ts';
import type { Lists } from '../../../store/lists.ts';
import type { Account } from '../../../store/mongo.ts';
import type { PageRequest } from '../../../store/pages.ts';
import { callRow, keyRow } from '../../account/rows.ts';
import { createValidator, type Validate } from '../../http/validator.ts';
import { attempt, goTo, type PageRouter, sendPage } from '../pageRouter.ts';
import { CALLS_PATH, callPage, callPath } from '../pages/callPage.ts';
import { type CallQuery, callsPage, DASHBOARD } from '../pages/callsPage.ts';
import { NEWEST_KEYS, pageOf, single } from '../query.ts';

interface Dependencies {
  lists: Lists;
  registry: Registry;
}

type CallsQuery = NonNullable<NonNullable<typeof listCalls.types>['query']>;

const DAY_MS = 86_400_000;

/** The last time with a four-digit year, which the schema requires. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** Converts a day to the timestamp of its start, plus a number of days. Invalid days are kept for the validator. */
function startOfDay(day: string, daysLater = 0): string {
  const start = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(start) ? day : new Date(Math.min(start + daysLater * DAY_MS, LAST_MS)).toISOString();
}

/** Converts the form to the query of the Account API, whose schema validates it. */
const asQuery = ({ tool, state, from, to }: CallQuery, page: PageRequest): Record<string, unknown> => ({
  ...page,
  ...(tool !== '' && { tool }),
  ...(state !== '' && { state }),
  ...(from !== '' && { from: startOfDay(from) }),
  ...(to !== '' && { to: startOfDay(to, 1) }),
});

const asDate = (iso: string | undefined): Date | undefined => (iso === undefined ? undefined : new Date(iso));

export function callPages(pageRouter: PageRouter, { lists, registry }: Dependencies): void {
  const validate: Validate<CallsQuery> = createValidator()<CallsQuery>(
    listCalls.query ?? { type: 'object', properties: {}, required: [], additionalProperties: false },
  );
  const toolNames = [...registry.keys()];

  const keysOf = async (account: Account) =>
    (await lists.keys(account._id, NEWEST_KEYS)).items.map((key) => keyRow(key, account));

  pageRouter.get(CALLS_PATH, async ({ ctx, viewer }) => {
    const accountId = viewer.account._id;
    const id = single(ctx, 'id').trim();
    const found = id === '' ? null : await lists.call(accountId, id);
    if (found !== null) return goTo(ctx, callPath(found._id));
    const page = pageOf(ctx);
    const { cursor } = page;
    const query: CallQuery = {
      tool: single(ctx, 'tool'),
      state: single(ctx, 'state'),
      key: single(ctx, 'key'),
      from: single(ctx, 'from'),
      to: single(ctx, 'to'),
    };
    const keys = await keysOf(viewer.account);
    const shown = { viewer, cursor, query, toolNames, keys, ...(id !== '' && { unknownId: id }) };
    const show = async () => {
      const { from, to, tool, state, ...pageRequest } = validate(asQuery(query, page));
      const keyId = query.key === '' ? undefined : query.key === DASHBOARD ? null : query.key;
      const filter = { tool, state, keyId, from: asDate(from), to: asDate(to) };
      const { items, nextCursor } = await lists.calls(accountId, filter, pageRequest);
      sendPage(ctx, callsPage({ ...shown, calls: { items: items.map(callRow), nextCursor } }));
    };
    const empty = { items: [], nextCursor: null };
    await attempt(ctx, show, (failure) => callsPage({ ...shown, calls: empty, failure }));
  });

  pageRouter.get(`${CALLS_PATH}/:id`, async ({ ctx, viewer, id }) => {
    const accountId = viewer.account._id;
    const [call, keys] = await Promise.all([lists.call(accountId, id), keysOf(viewer.account)]);
    if (call === null) throw new ServiceError('not_found');
    const keyName = keys.find((key) => key.id === call.keyId)?.name ?? null;
    const endedAt = call.finishedAt?.toISOString() ?? null;
    const { requestId } = call;
    sendPage(ctx, callPage({ viewer, call: callRow(call), requestId, endedAt, keyName }));
  });
}
