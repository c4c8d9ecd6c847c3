import { ServiceError } from '../../../schemas/errors.ts';
import { MAX_PASSKEYS, type Passkeys } from '../../../store/accounts/passkeys.ts';
import type { SecurityEvent } from '../../../store/accounts/securityLog.ts';
import { actorOf } from '../../auth/actor.ts';
import type { Auth } from '../../auth/auth.ts';
import type { ConfirmPassword } from '../../auth/confirmPassword.ts';
import { parseCredential } from '../../auth/passkeyCredential.ts';
import type { PasskeySteps } from '../../auth/passkeySteps.ts';
import type { Mails } from '../../mail/messages.ts';
import { codeOf, failureOf, refusalOf } from '../authRefusal.ts';
import type { Failure } from '../components/alert.ts';
import { CREDENTIAL, optionsPath } from '../components/passkeyForm.ts';
import { goTo, type PageRouter, type Submission, sendPage, type Visit } from '../pageRouter.ts';
import {
  ADD_PASSKEY,
  PASSKEY_NAME_LENGTH,
  PASSKEY_NEWS,
  passkeyPage,
  passkeyPath,
  passkeysPage,
} from '../pages/passkeysPage.ts';
import { sendOptions } from '../passkeyOptions.ts';
import { single } from '../query.ts';
import { PASSKEYS_PATH } from '../settingsPaths.ts';

interface Dependencies {
  passkeys: Passkeys;
  passkeySteps: Pick<PasskeySteps, 'startAdding' | 'add'>;
  confirmPassword: ConfirmPassword;
  auth: Pick<Auth, 'endOtherSessions'>;
  recordSecurity(event: SecurityEvent): Promise<void>;
  mails: Pick<Mails, 'passkeyChanged'>;
}

const nameOf = ({ form }: Submission): string | null => {
  const name = (form.get('name') ?? '').trim();
  return name === '' || name.length > PASSKEY_NAME_LENGTH ? null : name;
};
const INVALID_NAME = failureOf(`Enter a name of 1 to ${PASSKEY_NAME_LENGTH} characters.`);

const ownerOf = ({ ctx, viewer }: Visit) => ({
  userId: viewer.user.id,
  accountId: viewer.account._id,
  actor: actorOf(ctx),
});

/** Registers the pages on which users add, rename and remove their passkeys. */
export function passkeyPages(pageRouter: PageRouter, deps: Dependencies): void {
  const { passkeys, passkeySteps, confirmPassword, auth, recordSecurity, mails } = deps;
  const onList = { page: () => PASSKEYS_PATH };

  async function showList({ ctx, viewer }: Visit, failure: Failure | null, status?: number) {
    const news = PASSKEY_NEWS.find((it) => it === single(ctx, 'done')) ?? null;
    const rows = await passkeys.list(viewer.user.id);
    sendPage(ctx, passkeysPage({ viewer, rows, failure, news }), status);
  }

  async function showOne({ ctx, viewer, id }: Visit, failure: Failure | null, status?: number) {
    const row = await passkeys.find(viewer.user.id, id);
    if (row === null) throw new ServiceError('not_found');
    sendPage(ctx, passkeyPage({ viewer, row, failure }), status);
  }

  pageRouter.get(PASSKEYS_PATH, (visit) => showList(visit, null));
  pageRouter.get(`${PASSKEYS_PATH}/:id`, (visit) => showOne(visit, null));

  // Whoever adds a passkey can sign in with it after the password was changed, so the password is asked for.
  const sendCreationOptions = (visit: Submission) =>
    sendOptions(visit.ctx, async () => {
      const { ctx, viewer, form } = visit;
      if (nameOf(visit) === null) return INVALID_NAME;
      if (!(await confirmPassword(ctx, viewer.user, form.get('password') ?? '')))
        return refusalOf('INVALID_PASSWORD');
      if ((await passkeys.list(viewer.user.id)).length >= MAX_PASSKEYS)
        return failureOf(`You have ${MAX_PASSKEYS} passkeys, which is the limit. Remove one first.`);
      return passkeySteps.startAdding(ctx);
    });
  pageRouter.post(optionsPath(ADD_PASSKEY), sendCreationOptions, onList);

  const add = async (visit: Submission) => {
    const { ctx, form } = visit;
    const [name, credential] = [nameOf(visit), parseCredential(form.get(CREDENTIAL) ?? '')];
    if (name === null) return showList(visit, INVALID_NAME, 422);
    if (credential === null) return showList(visit, refusalOf('FAILED_TO_VERIFY_REGISTRATION'), 422);
    const response = await passkeySteps.add(ctx, name, credential);
    // better-auth reports an invalid response of an authenticator as an internal error.
    if (!response.ok) return showList(visit, refusalOf(await codeOf(response)), 422);
    const { accountId, actor } = ownerOf(visit);
    await recordSecurity({ accountId, kind: 'passkey_added', actor, subject: name });
    mails.passkeyChanged(visit.viewer.user.email, 'added', name);
    goTo(ctx, `${PASSKEYS_PATH}?done=added`);
  };
  pageRouter.post(ADD_PASSKEY, add, onList);

  const rename = async (visit: Submission) => {
    const name = nameOf(visit);
    if (name === null) return showOne(visit, INVALID_NAME, 422);
    if (!(await passkeys.rename(ownerOf(visit), visit.id, name))) throw new ServiceError('not_found');
    goTo(visit.ctx, `${PASSKEYS_PATH}?done=renamed`);
  };
  pageRouter.post(`${PASSKEYS_PATH}/:id/rename`, rename, { page: passkeyPath });

  const remove = async (visit: Submission) => {
    const { ctx, viewer, id } = visit;
    const removed = await passkeys.remove(ownerOf(visit), id);
    if (removed === null) throw new ServiceError('not_found');
    // Sessions that began with the passkey must not outlive it.
    await auth.endOtherSessions(viewer.user.id, viewer.sessionId);
    mails.passkeyChanged(viewer.user.email, 'removed', removed.name);
    goTo(ctx, `${PASSKEYS_PATH}?done=removed`);
  };
  pageRouter.post(`${PASSKEYS_PATH}/:id/remove`, remove, { page: passkeyPath });
}
