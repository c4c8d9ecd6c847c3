import { listCalls } from '../../../schemas/account.ts';
import type { Registry } from '../../../schemas/registry.ts';
import type { Lists } from '../../../store/lists.ts';
import type { PageRequest } from '../../../store/pages.ts';
import { callRow } from '../../account/rows.ts';
import { createValidator, type Validate } from '../../http/validator.ts';
import { attempt, type Desk, sendPage } from '../pageRouter.ts';
import { type CallQuery, callsPage } from '../pages/callsPage.ts';
import { pageOf, single } from '../query.ts';

interface Dependencies {
  lists: Lists;
  registry: Registry;
}

type CallsQuery = NonNullable<NonNullable<typeof listCalls.types>['query']>;

const DAY_MS = 86_400_000;

/** The last moment that ISO 8601 writes with four digits of the year, as the schema wants it. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** A day of a form as the moment at which it begins, some days later; what is no day stays what it is. */
function asMoment(day: string, daysLater = 0): string {
  const begin = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(begin) ? day : new Date(Math.min(begin + daysLater * DAY_MS, LAST_MS)).toISOString();
}

/** The form's words as the query of the Account API, which then says what is wrong with them. */
const asQuery = ({ tool, state, from, to }: CallQuery, page: PageRequest): Record<string, unknown> => ({
  ...page,
  ...(tool !== '' && { tool }),
  ...(state !== '' && { state }),
  ...(from !== '' && { from: asMoment(from) }),
  ...(to !== '' && { to: asMoment(to, 1) }),
});

const asDate = (iso: string | undefined): Date | undefined => (iso === undefined ? undefined : new Date(iso));

export function callPages(desk: Desk, { lists, registry }: Dependencies): void {
  const validate: Validate<CallsQuery> = createValidator()<CallsQuery>(
    listCalls.query ?? { type: 'object', properties: {}, required: [], additionalProperties: false },
  );
  const toolNames = [...registry.keys()];

  desk.get('/dashboard/calls', async ({ ctx, viewer }) => {
    const page = pageOf(ctx);
    const { cursor } = page;
    const query: CallQuery = {
      tool: single(ctx, 'tool'),
      state: single(ctx, 'state'),
      from: single(ctx, 'from'),
      to: single(ctx, 'to'),
    };
    const show = async () => {
      const { from, to, tool, state, ...wanted } = validate(asQuery(query, page));
      const filter = { tool, state, from: asDate(from), to: asDate(to) };
      const { items, nextCursor } = await lists.calls(viewer.account._id, filter, wanted);
      const calls = { items: items.map(callRow), nextCursor };
      sendPage(ctx, callsPage({ viewer, calls, cursor, query, toolNames }));
    };
    const nothing = { items: [], nextCursor: null };
    await attempt(ctx, show, (failure) =>
      callsPage({ viewer, calls: nothing, cursor, query, toolNames, failure }),
    );
  });
}
