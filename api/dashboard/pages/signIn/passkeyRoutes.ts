import { parseCredential } from '../../../auth/passkeyCredential.ts';
import type { Failure } from '../../components/alert.ts';
import { assertNoFault, codeOf, failureOf, refusalOf } from '../../frame/authRefusal.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { goTo, HOME, readFields, SIGN_IN, sendPage } from '../../frame/pageRouter.ts';
import { CREDENTIAL, optionsPath } from '../settings/passkeys/form.ts';
import { sendOptions } from '../settings/passkeys/options.ts';
import { SIGN_IN_PASSKEY, signInPage } from './view.ts';

/** Registers the sign-in with a passkey; the form is on the sign-in page. */
export function passkeyRoutes({ pages, passkeySteps }: Dashboard): void {
  pages.public('get', SIGN_IN_PASSKEY, async (ctx) => goTo(ctx, SIGN_IN));

  pages.public('post', optionsPath(SIGN_IN_PASSKEY), (ctx) =>
    sendOptions(ctx, () => passkeySteps.startSignIn(ctx)),
  );

  pages.public('post', SIGN_IN_PASSKEY, async (ctx) => {
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
