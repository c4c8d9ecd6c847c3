import { listEvents } from '../../../../schemas/account.ts';
import { type ResendBody, resendBody } from '../../../../schemas/webhookRows.ts';
import { eventRows } from '../../../account/eventRows.ts';
import type { Context } from '../../../http/context.ts';
import { createValidator, type Validate } from '../../../http/validator.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, goTo, type Submission, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { ALL_ENDPOINTS, cursorOf, pageOf, resentOf, single } from '../../frame/query.ts';
import { EVENTS_PATH, type EventQuery, eventsHref, eventsPage, RESEND_PATH } from './view.ts';

type EventsQuery = NonNullable<NonNullable<typeof listEvents.types>['query']>;

const queryOf = (ctx: Context): EventQuery => ({ event: single(ctx, 'event'), state: single(ctx, 'state') });

/** Registers the pages that list events and resend deliveries. */
export function eventsRoutes({ pages, core: { lists }, webhooks }: Dashboard): void {
  const compile = createValidator();
  const validate: Validate<EventsQuery> = compile<EventsQuery>(
    listEvents.query ?? { type: 'object', properties: {}, required: [], additionalProperties: false },
  );
  const validateResend = compile<ResendBody>(resendBody);

  async function list(
    { ctx, viewer }: Visit,
    more: Partial<Parameters<typeof eventsPage>[0]> = {},
  ): Promise<string> {
    const query = queryOf(ctx);
    const filled = Object.entries(query).filter(([, value]) => value !== '');
    const { event, state, ...page } = validate({ ...pageOf(ctx), ...Object.fromEntries(filled) });
    const [events, endpoints] = await Promise.all([
      eventRows(lists, viewer.account._id, { event, state }, page),
      webhooks.list(viewer.account._id, ALL_ENDPOINTS),
    ]);
    const { cursor } = page;
    return eventsPage({
      viewer,
      events,
      endpoints: endpoints.items,
      cursor,
      query,
      now: new Date(),
      ...more,
    });
  }

  pages.get(EVENTS_PATH, async (visit) => {
    const { ctx, viewer } = visit;
    const show = async () => sendPage(ctx, await list(visit, { resent: resentOf(ctx) }));
    await attempt(ctx, show, (failure) =>
      eventsPage({
        viewer,
        events: { items: [], nextCursor: null },
        endpoints: [],
        cursor: cursorOf(ctx),
        query: queryOf(ctx),
        now: new Date(),
        failure,
      }),
    );
  });

  const resendOne = async (visit: Submission) => {
    const { ctx, viewer, form } = visit;
    const resend = async () => {
      const body = validateResend({ deliveryIds: [form.get('deliveryId') ?? ''] });
      const { queued } = await webhooks.resend(viewer.account._id, form.get('endpointId') ?? '', body);
      const cursor = cursorOf(ctx);
      const place = { ...(cursor !== undefined && { cursor }), resent: `${queued}` };
      goTo(ctx, eventsHref(EVENTS_PATH, queryOf(ctx), place));
    };
    await attempt(ctx, resend, (failure) => list(visit, { failure }));
  };
  pages.post(RESEND_PATH, resendOne, { page: () => EVENTS_PATH });
}
