import { recordSecurity } from '../../../../../store/accounts/securityLog.ts';
import { actorOf, createActor } from '../../../../auth/actor.ts';
import { NAME_LENGTH } from '../../../../auth/authRoutes.ts';
import { isEmail } from '../../../../auth/isEmail.ts';
import { CONFIRM_EMAIL } from '../../../../mail/messages.ts';
import {
  assertNoFault,
  codeOf,
  failureOf,
  refusalOf,
  type ShowForm,
  withinLimits,
} from '../../../frame/authRefusal.ts';
import type { Dashboard } from '../../../frame/dashboard.ts';
import { goTo, readFields, type Submission, sendPage, type Visit } from '../../../frame/pageRouter.ts';
import { single } from '../../../frame/query.ts';
import { PROFILE_PATH } from '../paths.ts';
import { confirmEmailPage, deadEmailLinkPage, emailChangedPage, profilePage } from './view.ts';

/** Registers the pages that change the name and the email address. */
export function profileRoutes({ pages, core, forwardToAuth, auth, confirmPassword, mails }: Dashboard): void {
  const { store, limits } = core;
  const { emailChanges } = auth;
  const onProfile = { page: () => PROFILE_PATH };

  const show = (
    { ctx, viewer }: Visit,
    more: Partial<Parameters<typeof profilePage>[0]> = {},
    status?: number,
  ) => sendPage(ctx, profilePage({ viewer, mails, ...more }), status);

  pages.get(PROFILE_PATH, async (visit) => {
    show(visit, { news: single(visit.ctx, 'changed') === 'name' ? 'name' : null });
  });

  const changeName = async (visit: Submission) => {
    const { ctx, form } = visit;
    const name = (form.get('name') ?? '').trim();
    const refuse = (failure: ReturnType<typeof failureOf>) =>
      show(visit, { failure, entered: { name } }, 422);
    if (name === '' || name.length > NAME_LENGTH)
      return refuse(failureOf(`Enter a name of 1 to ${NAME_LENGTH} characters.`));
    const response = await forwardToAuth(ctx, 'update-user', { body: { name } });
    assertNoFault(response, 'update-user');
    if (!response.ok) return refuse(refusalOf(await codeOf(response)));
    goTo(ctx, `${PROFILE_PATH}?changed=name`);
  };
  pages.post(`${PROFILE_PATH}/name`, changeName, onProfile);

  const requestEmail = async (visit: Submission) => {
    const { ctx, viewer, form } = visit;
    const email = (form.get('email') ?? '').trim();
    const showForm: ShowForm = (status, failure) => show(visit, { failure, entered: { email } }, status);
    if (!mails.reaches) return show(visit);
    const step = async () => {
      if (!isEmail(email)) return showForm(422, refusalOf('INVALID_EMAIL'));
      if (email.toLowerCase() === viewer.user.email)
        return showForm(422, failureOf('This is already your email address.'));
      if (!(await confirmPassword(ctx, viewer.user, form.get('password') ?? '')))
        return showForm(422, refusalOf('INVALID_PASSWORD'));
      await limits.attempts.countMail({ address: ctx.ip, email });
      const token = await emailChanges.request(viewer.user, email);
      const subject = email;
      const accountId = viewer.account._id;
      await recordSecurity(store, {
        accountId,
        kind: 'email_change_requested',
        actor: actorOf(ctx),
        subject,
      });
      if (token !== null) mails.changeEmail(email, token);
      show(visit, { sentTo: email });
    };
    await withinLimits(ctx, step, showForm);
  };
  pages.post(`${PROFILE_PATH}/email`, requestEmail, onProfile);

  // Public, because the link may be opened in a browser that is not signed in.
  pages.public('get', CONFIRM_EMAIL, async (ctx) => {
    const token = single(ctx, 'token');
    const change = await emailChanges.find(token);
    if (change === null) return sendPage(ctx, deadEmailLinkPage(false), 410);
    sendPage(ctx, confirmEmailPage({ token, email: change.to }));
  });

  pages.public('post', CONFIRM_EMAIL, async (ctx) => {
    const token = (await readFields(ctx)).get('token') ?? '';
    using _slot = await limits.pageLimit.acquire(ctx.ip);
    const change = await emailChanges.confirm(token);
    if (change === null || change === 'taken')
      return sendPage(ctx, deadEmailLinkPage(change === 'taken'), change === null ? 410 : 409);
    const { accountId, from, to } = change;
    const actor = createActor(ctx.ip, ctx.get('User-Agent'), null);
    await recordSecurity(store, { accountId, kind: 'email_changed', actor, subject: `${from} → ${to}` });
    mails.emailChanged(from, to);
    sendPage(ctx, emailChangedPage(to));
  });
}
