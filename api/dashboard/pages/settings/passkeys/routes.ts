import { ServiceError } from '../../../../../schemas/errors.ts';
import { createPasskeys, MAX_PASSKEYS } from '../../../../../store/accounts/passkeys.ts';
import { recordSecurity } from '../../../../../store/accounts/securityLog.ts';
import { actorOf } from '../../../../auth/actor.ts';
import { parseCredential } from '../../../../auth/passkeyCredential.ts';
import type { Failure } from '../../../components/alert.ts';
import { codeOf, failureOf, refusalOf } from '../../../frame/authRefusal.ts';
import type { Dashboard } from '../../../frame/dashboard.ts';
import { goTo, type Submission, sendPage, type Visit } from '../../../frame/pageRouter.ts';
import { single } from '../../../frame/query.ts';
import { PASSKEYS_PATH } from '../paths.ts';
import { CREDENTIAL, optionsPath } from './form.ts';
import { sendOptions } from './options.ts';
import {
  ADD_PASSKEY,
  PASSKEY_NAME_LENGTH,
  PASSKEY_NEWS,
  passkeyPage,
  passkeyPath,
  passkeysPage,
} from './view.ts';

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
export function passkeysRoutes(dashboard: Dashboard): void {
  const { pages, core, passkeySteps, confirmPassword, auth, mails } = dashboard;
  const { store } = core;
  const passkeys = createPasskeys(store);
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

  pages.get(PASSKEYS_PATH, (visit) => showList(visit, null));
  pages.get(`${PASSKEYS_PATH}/:id`, (visit) => showOne(visit, null));

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
  pages.post(optionsPath(ADD_PASSKEY), sendCreationOptions, onList);

  const add = async (visit: Submission) => {
    const { ctx, form } = visit;
    const [name, credential] = [nameOf(visit), parseCredential(form.get(CREDENTIAL) ?? '')];
    if (name === null) return showList(visit, INVALID_NAME, 422);
    if (credential === null) return showList(visit, refusalOf('FAILED_TO_VERIFY_REGISTRATION'), 422);
    const response = await passkeySteps.add(ctx, name, credential);
    // better-auth reports an invalid response of an authenticator as an internal error.
    if (!response.ok) return showList(visit, refusalOf(await codeOf(response)), 422);
    const { accountId, actor } = ownerOf(visit);
    await recordSecurity(store, { accountId, kind: 'passkey_added', actor, subject: name });
    mails.passkeyChanged(visit.viewer.user.email, 'added', name);
    goTo(ctx, `${PASSKEYS_PATH}?done=added`);
  };
  pages.post(ADD_PASSKEY, add, onList);

  const rename = async (visit: Submission) => {
    const name = nameOf(visit);
    if (name === null) return showOne(visit, INVALID_NAME, 422);
    if (!(await passkeys.rename(ownerOf(visit), visit.id, name))) throw new ServiceError('not_found');
    goTo(visit.ctx, `${PASSKEYS_PATH}?done=renamed`);
  };
  pages.post(`${PASSKEYS_PATH}/:id/rename`, rename, { page: passkeyPath });

  const remove = async (visit: Submission) => {
    const { ctx, viewer, id } = visit;
    const removed = await passkeys.remove(ownerOf(visit), id);
    if (removed === null) throw new ServiceError('not_found');
    // Sessions that began with the passkey must not outlive it.
    await auth.endOtherSessions(viewer.user.id, viewer.sessionId);
    mails.passkeyChanged(viewer.user.email, 'removed', removed.name);
    goTo(ctx, `${PASSKEYS_PATH}?done=removed`);
  };
  pages.post(`${PASSKEYS_PATH}/:id/remove`, remove, { page: passkeyPath });
}
