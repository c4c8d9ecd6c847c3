import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, goTo, type Submission, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { resentOf } from '../../frame/query.ts';
import { deliveryPage, deliveryPath } from './deliveryView.ts';
import { WEBHOOKS_PATH, webhookPath } from './listView.ts';

const PATH = `${WEBHOOKS_PATH}/:id/deliveries/:deliveryId`;

/** Registers the page of a delivery and its resend. */
export function deliveryRoutes({ pages, webhooks }: Dashboard): void {
  async function show({ ctx, viewer, id }: Visit, more: Partial<Parameters<typeof deliveryPage>[0]> = {}) {
    const accountId = viewer.account._id;
    const [webhook, details] = await Promise.all([
      webhooks.get(accountId, id),
      webhooks.delivery(accountId, id, ctx.params.deliveryId ?? ''),
    ]);
    return deliveryPage({ viewer, webhook, now: new Date(), ...details, ...more });
  }

  pages.get(PATH, async (visit) => {
    sendPage(visit.ctx, await show(visit, { resent: resentOf(visit.ctx) }));
  });

  const resend = async (visit: Submission) => {
    const { ctx, viewer, id } = visit;
    const run = async () => {
      const { delivery } = await webhooks.delivery(viewer.account._id, id, ctx.params.deliveryId ?? '');
      const { queued } = await webhooks.resend(viewer.account._id, id, { deliveryIds: [delivery.id] });
      goTo(ctx, `${deliveryPath({ id }, delivery.id)}?resent=${queued}`);
    };
    await attempt(ctx, run, (failure) => show(visit, { failure }));
  };
  pages.post(`${PATH}/resend`, resend, { page: (id) => webhookPath({ id }) });
}
