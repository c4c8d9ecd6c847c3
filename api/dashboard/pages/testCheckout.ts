import type { Pack } from '../../../schemas/formats/packs.ts';
import { html } from '../../html.ts';
import { postForm, referenceField } from '../components/form.ts';
import { price } from '../components/price.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';
import { CREDITS_PATH, packName, testBanner } from './credits.ts';

export const TEST_CHECKOUT_PATH = `${CREDITS_PATH}/test-checkout`;

interface TestCheckoutPage {
  viewer: Viewer;
  pack: Pack;
  /** Names the purchase. */
  reference: string;
}

/** Stands where the payment service's own page would. */
export const testCheckoutPage = ({ viewer, pack, reference }: TestCheckoutPage): string =>
  layout({
    title: 'Test checkout',
    menu: { viewer, section: 'Credits' },
    main: html`${testBanner}
<dl class="facts">
<div><dt>You get</dt> <dd>${packName(pack)}</dd></div>
<div><dt>It would cost</dt> <dd>${price(pack.amount, pack.currency)}</dd></div>
</dl>
${postForm({
  action: TEST_CHECKOUT_PATH,
  viewer,
  content: html`<input type="hidden" name="pack" value="${pack.credits}">
${referenceField(reference)}
<button>Pretend to pay</button>`,
})}
<p><a href="${CREDITS_PATH}?done=cancelled">Cancel</a></p>`,
  });
