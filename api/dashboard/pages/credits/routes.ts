import { randomUUID } from 'node:crypto';
import type { Env } from '../../../../schemas/env.ts';
import { invalidInput, ServiceError } from '../../../../schemas/errors.ts';
import type { Pack } from '../../../../schemas/formats/packs.ts';
import type { Accounts } from '../../../../store/accounts/accounts.ts';
import { accountRow } from '../../../account/rows.ts';
import { parseThreshold } from '../../../billing/alertThreshold.ts';
import { limitPayments } from '../../../billing/limitPayments.ts';
import type { StripeService } from '../../../billing/stripeService.ts';
import type { Context } from '../../../http/context.ts';
import { ownOrigin } from '../../../http/origin.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { referenceOf } from '../../frame/formValues.ts';
import {
  attempt,
  formsMayLeadTo,
  goTo,
  type Submission,
  sendPage,
  type Visit,
} from '../../frame/pageRouter.ts';
import { single } from '../../frame/query.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { ALERTS_PATH, ATTENTION_PATH } from './alerts.ts';
import { TEST_CHECKOUT_PATH, testCheckoutPage } from './checkoutView.ts';
import { CREDITS_PATH, type Selling } from './paths.ts';
import { topUpRoutes } from './topUpRoutes.ts';
import { parseCeiling, TOP_UPS_PATH } from './topUps.ts';
import { type CreditsPage, creditsPage, OUTCOMES, type Outcome, PURCHASED } from './view.ts';

const NEWEST = { limit: 50 };
const STRIPE_CHECKOUT = 'https://checkout.stripe.com';

/** A pack to buy, with the idempotency reference of the form. */
interface Choice {
  pack: Pack;
  reference: string;
}

/** Newest entries that are searched for the settlement of a shortfall. */
const NEWEST_LINES = { limit: 100 };

const isOutcome = (text: string): text is Outcome => Object.hasOwn(OUTCOMES, text);

function sellingOf(env: Env, byStripe: boolean): Selling {
  const packs = env.CREDIT_PACKS;
  if (byStripe) return { by: 'stripe', packs };
  // In production, test payments would give free credits to everyone.
  return env.NODE_ENV === 'production' ? null : { by: 'test', packs };
}

/** Registers the pages that show credits and purchases and sell packs. */
export function creditsRoutes(dashboard: Dashboard): void {
  const { pages, core, payments, topUps, topUpRuns, topUpService, stripe, mails, issuesInvoices } = dashboard;
  const { env, lists, accounts, limits } = core;
  const selling = sellingOf(env, stripe !== null);

  async function page({ ctx, viewer }: Visit, more: Partial<CreditsPage> = {}): Promise<string> {
    if (stripe !== null) formsMayLeadTo(ctx, STRIPE_CHECKOUT);
    const accountId = viewer.account._id;
    const [grants, purchases, settings, spent] = await Promise.all([
      lists.grants(accountId, NEWEST),
      payments.list(accountId, NEWEST),
      topUpRuns.settings(accountId),
      topUpRuns.spentInMonth(accountId),
    ]);
    const account = accountRow(viewer.account);
    const [reference, sendsMail] = [randomUUID(), mails.delivers];
    return creditsPage({
      viewer,
      account,
      grants: grants.items,
      purchases: purchases.items,
      selling,
      registry: core.registry,
      sellsToPrograms: topUpService !== null,
      sendsMail,
      issuesInvoices,
      topUp: { settings, spent },
      reference,
      ...more,
    });
  }

  /** Credits of the newest purchase that were used to settle the account's shortfall. */
  async function settledOf(accountId: string): Promise<number> {
    const [purchases, lines] = await Promise.all([
      payments.list(accountId, { limit: 1 }),
      lists.entries(accountId, NEWEST_LINES),
    ]);
    const line = lines.items.find(
      ({ type, reference }) => type === 'recovery' && reference === purchases.items[0]?._id,
    );
    return line === undefined ? 0 : -line.amount;
  }

  /** @throws ServiceError invalid_input: unknown pack or invalid reference; not_found: another payment method is configured */
  function choiceOf(by: 'stripe' | 'test', fields: URLSearchParams): Choice {
    if (selling?.by !== by) throw new ServiceError('not_found');
    const pack = selling.packs.find(({ credits }) => String(credits) === fields.get('pack'));
    if (pack === undefined) throw invalidInput([{ pointer: '/pack', message: 'is not available' }]);
    const reference = referenceOf(fields);
    if (reference === null)
      throw invalidInput([{ pointer: '/pack', message: 'must be selected on this page' }]);
    return { pack, reference };
  }

  /** URL to which Stripe returns. */
  const back = ({ ctx }: Pick<Visit, 'ctx'>, outcome: Outcome): string =>
    `${env.PUBLIC_URL ?? ownOrigin(ctx)}${CREDITS_PATH}?done=${outcome}`;

  async function startByStripe(ctx: Context, { account }: Viewer, choice: Choice, service: StripeService) {
    await limitPayments(limits, account._id);
    return service.startCheckout({
      ...choice,
      accountId: account._id,
      email: account.email,
      paidUrl: back({ ctx }, 'paid'),
      cancelledUrl: back({ ctx }, 'cancelled'),
    });
  }

  const startTest = ({ pack, reference }: Choice): string =>
    `${TEST_CHECKOUT_PATH}?${new URLSearchParams({ pack: String(pack.credits), reference })}`;

  pages.get(CREDITS_PATH, async (visit) => {
    const done = single(visit.ctx, 'done');
    const { _id } = visit.viewer.account;
    const more = isOutcome(done)
      ? { outcome: done, settled: PURCHASED.has(done) ? await settledOf(_id) : 0 }
      : {};
    sendPage(visit.ctx, await page(visit, more));
  });

  const buy = async (visit: Submission) => {
    const { ctx, viewer, form } = visit;
    const start = async () => {
      const address =
        stripe === null
          ? startTest(choiceOf('test', form))
          : await startByStripe(ctx, viewer, choiceOf('stripe', form), stripe);
      goTo(ctx, address);
    };
    await attempt(ctx, start, (failure) => page(visit, { failure }));
  };
  pages.post(`${CREDITS_PATH}/buy`, buy, { page: () => CREDITS_PATH });

  if (selling !== null) topUpRoutes(dashboard, { selling, refused: page, back });

  const alertForm = (path: string, act: Accounts['addAlert'], outcome: Outcome) => {
    const handle = async (visit: Submission) => {
      const { ctx, viewer, form } = visit;
      const threshold = (form.get('threshold') ?? '').trim();
      const change = async () => {
        await act(viewer.account._id, parseThreshold(threshold));
        goTo(ctx, `${CREDITS_PATH}?done=${outcome}`);
      };
      await attempt(ctx, change, (failure) => page(visit, { failure, threshold }));
    };
    pages.post(path, handle, { page: () => CREDITS_PATH });
  };
  alertForm(ALERTS_PATH, accounts.addAlert, 'alert');
  alertForm(`${ALERTS_PATH}/remove`, accounts.removeAlert, 'no-alert');

  const permit = async (visit: Submission) => {
    const { ctx, viewer, form } = visit;
    const ceiling = (form.get('ceiling') ?? '').trim();
    const change = async () => {
      if (topUpService === null) throw new ServiceError('not_found');
      await topUps.setCeiling(viewer.account._id, parseCeiling(ceiling));
      goTo(ctx, `${CREDITS_PATH}?done=top-ups`);
    };
    await attempt(ctx, change, (failure) => page(visit, { failure, ceiling }));
  };
  pages.post(TOP_UPS_PATH, permit, { page: () => CREDITS_PATH });

  pages.post(
    ATTENTION_PATH,
    async ({ ctx, viewer, form }) => {
      const isOn = form.get('mails') === 'on';
      await accounts.setAttentionMails(viewer.account._id, isOn);
      goTo(ctx, `${CREDITS_PATH}?done=${isOn ? 'mails' : 'no-mails'}`);
    },
    { page: () => CREDITS_PATH },
  );

  pages.get(TEST_CHECKOUT_PATH, async (visit) => {
    const { ctx, viewer } = visit;
    const show = async () =>
      sendPage(ctx, testCheckoutPage({ viewer, ...choiceOf('test', new URLSearchParams(ctx.querystring)) }));
    await attempt(ctx, show, (failure) => page(visit, { failure }));
  });

  pages.post(TEST_CHECKOUT_PATH, async (visit) => {
    const { ctx, viewer, form } = visit;
    const pay = async () => {
      const { pack, reference } = choiceOf('test', form);
      const { credits, amount, currency } = pack;
      const accountId = viewer.account._id;
      const paymentId = `test_${reference}`;
      const fact = { kind: 'paid', accountId, credits, amount, test: true } as const;
      const { status } = await payments.record({ paymentId, source: paymentId, currency, fact });
      if (status === 'mismatch')
        throw invalidInput([
          {
            pointer: '/pack',
            message: 'does not match this checkout, which was already used for another pack',
          },
        ]);
      goTo(ctx, `${CREDITS_PATH}?done=bought`);
    };
    await attempt(ctx, pay, (failure) => page(visit, { failure }));
  });
}
