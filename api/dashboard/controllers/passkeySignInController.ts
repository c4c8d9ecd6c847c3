import { parseCredential } from '../../auth/passkeyCredential.ts';
import type { PasskeySteps } from '../../auth/passkeySteps.ts';
import { assertNoFault, codeOf, failureOf, refusalOf } from '../authRefusal.ts';
import type { Failure } from '../components/alert.ts';
import { CREDENTIAL, optionsPath } from '../components/passkeyForm.ts';
import { goTo, HOME, type PageRouter, readFields, SIGN_IN, sendPage } from '../pageRouter.ts';
import { SIGN_IN_PASSKEY, signInPage } from '../pages/signInPage.ts';
import { sendOptions } from '../passkeyOptions.ts';

interface Dependencies {
  passkeySteps: Pick<PasskeySteps, 'startSignIn' | 'signIn'>;
}

/** Registers the sign-in with a passkey; the form is on the sign-in page. */
export function passkeySignIn(pageRouter: PageRouter, { passkeySteps }: Dependencies): void {
  pageRouter.public('get', SIGN_IN_PASSKEY, async (ctx) => goTo(ctx, SIGN_IN));

  pageRouter.public('post', optionsPath(SIGN_IN_PASSKEY), (ctx) =>
    sendOptions(ctx, () => passkeySteps.startSignIn(ctx)),
  );

  pageRouter.public('post', SIGN_IN_PASSKEY, async (ctx) => {
    const refuse = (failure: Failure) =>
      sendPage(ctx, signInPage({ again: { failure, email: '' }, news: null, hasPasskeys: true }), 401);
    const credential = parseCredential((await readFields(ctx)).get(CREDENTIAL) ?? '');
    if (credential === null) return refuse(failureOf('The browser sent no passkey. Try again.'));
    const response = await passkeySteps.signIn(ctx, credential);
    assertNoFault(response, 'the sign-in with a passkey');
    if (!response.ok) return refuse(refusalOf(await codeOf(response)));
    ctx.append('Set-Cookie', response.headers.getSetCookie());
    goTo(ctx, HOME);
  });
}
