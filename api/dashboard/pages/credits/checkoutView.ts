import type { Pack } from '../../../../schemas/formats/packs.ts';
import { postForm, referenceField } from '../../components/form.ts';
import { price } from '../../components/price.ts';
import { html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { CREDITS_PATH } from './paths.ts';
import { packName, testBanner } from './view.ts';

export const TEST_CHECKOUT_PATH = `${CREDITS_PATH}/test-checkout`;

interface TestCheckoutPage {
  viewer: Viewer;
  pack: Pack;
  /** Idempotency reference of the purchase. */
  reference: string;
}

/** The test checkout, shown instead of Stripe's page. */
export const testCheckoutPage = ({ viewer, pack, reference }: TestCheckoutPage): string =>
  layout({
    title: 'Test checkout',
    menu: { viewer, section: 'Credits' },
    main: html`${testBanner}
<dl class="facts">
<div><dt>You get</dt> <dd>${packName(pack)}</dd></div>
<div><dt>Price</dt> <dd>${price(pack.amount, pack.currency)}</dd></div>
</dl>
${postForm({
  action: TEST_CHECKOUT_PATH,
  viewer,
  content: html`<input type="hidden" name="pack" value="${pack.credits}">
${referenceField(reference)}
<button>Complete the test purchase</button>`,
})}
<p><a href="${CREDITS_PATH}?done=cancelled">Cancel</a></p>`,
  });
