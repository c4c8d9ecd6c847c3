import { listCalls } from '../../../schemas/account.ts';
import type { Registry } from '../../../schemas/registry.ts';
import type { Lists } from '../../../store/lists.ts';
import type { PageRequest } from '../../../store/pages.ts';
import { callRow } from '../../account/rows.ts';
import { createValidator, type Validate } from '../../http/validator.ts';
import { attempt, type PageRouter, sendPage } from '../pageRouter.ts';
import { type CallQuery, callsPage } from '../pages/callsPage.ts';
import { pageOf, single } from '../query.ts';

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

  pageRouter.get('/dashboard/calls', async ({ ctx, viewer }) => {
    const page = pageOf(ctx);
    const { cursor } = page;
    const query: CallQuery = {
      tool: single(ctx, 'tool'),
      state: single(ctx, 'state'),
      from: single(ctx, 'from'),
      to: single(ctx, 'to'),
    };
    const show = async () => {
      const { from, to, tool, state, ...pageRequest } = validate(asQuery(query, page));
      const filter = { tool, state, from: asDate(from), to: asDate(to) };
      const { items, nextCursor } = await lists.calls(viewer.account._id, filter, pageRequest);
      const calls = { items: items.map(callRow), nextCursor };
      sendPage(ctx, callsPage({ viewer, calls, cursor, query, toolNames }));
    };
    const empty = { items: [], nextCursor: null };
    await attempt(ctx, show, (failure) =>
      callsPage({ viewer, calls: empty, cursor, query, toolNames, failure }),
    );
  });
}
