import { NAME_LENGTH } from '../../../../auth/authRoutes.ts';
import { CONFIRM_EMAIL, type Mails } from '../../../../mail/messages.ts';
import { alert, type Failure, notice } from '../../../components/alert.ts';
import { passwordField } from '../../../components/credentialFields.ts';
import { inputField } from '../../../components/field.ts';
import { postForm } from '../../../components/form.ts';
import { typed } from '../../../components/text.ts';
import { type Html, html } from '../../../frame/html.ts';
import { layout } from '../../../frame/layout.ts';
import type { Viewer } from '../../../frame/viewer.ts';
import { PROFILE_PATH, SETTINGS } from '../paths.ts';

const TITLE = 'Name and email address';

interface Profile {
  viewer: Viewer;
  mails: Pick<Mails, 'delivers' | 'reaches'>;
  /** Values of a refused form. */
  entered?: { name?: string; email?: string };
  failure?: Failure;
  news?: 'name' | null;
  /** The address to which a link was just sent. */
  sentTo?: string;
}

const sentNotice = (email: string, delivers: boolean): Html =>
  notice(
    delivers
      ? html`<p>If no other account has the address <strong>${typed(email)}</strong>, we sent a link to it. Your address changes when you open
the link within one hour.</p>`
      : html`<p>This installation sends no mail. If no other account has the address <strong>${typed(email)}</strong>, the API's log has the
link that changes it.</p>`,
  );

const emailForm = ({ viewer, mails, entered = {}, failure }: Profile): Html =>
  postForm({
    action: `${PROFILE_PATH}/email`,
    viewer,
    content: html`${inputField({
      name: 'email',
      label: 'New email address',
      type: 'email',
      value: entered.email ?? '',
      hint: mails.delivers
        ? 'We send a link to this address. The old address gets a notice of the change.'
        : 'This installation sends no mail. The link that changes the address is in the log of the API.',
      attributes: { autocomplete: 'email', required: '' },
      failure: failure ?? null,
    })}
${passwordField(failure ?? null)}
<button>${mails.delivers ? 'Send the link' : 'Change the address'}</button>`,
  });

/** The forms that change the name and the email address. */
export function profilePage(profile: Profile): string {
  const { viewer, mails, entered = {}, failure = null, news = null, sentTo } = profile;
  return layout({
    title: TITLE,
    menu: { viewer, section: 'Settings' },
    parent: SETTINGS,
    main: html`${alert(failure)}${news === null ? null : notice(html`<p>Your name was changed.</p>`)}${
      sentTo === undefined ? null : sentNotice(sentTo, mails.delivers)
    }
<h2>Name</h2>
${postForm({
  action: `${PROFILE_PATH}/name`,
  viewer,
  content: html`${inputField({
    name: 'name',
    label: 'Name',
    value: entered.name ?? viewer.user.name,
    attributes: { autocomplete: 'name', required: '', maxlength: NAME_LENGTH },
    failure,
  })}
<button>Change the name</button>`,
})}
<h2>Email address</h2>
<p>You sign in with <strong>${typed(viewer.user.email)}</strong>.</p>
${
  mails.reaches
    ? emailForm(profile)
    : html`<p>This installation sends no mail, so the address cannot be changed here. Ask its operator.</p>`
}`,
  });
}

/** The page of a valid link: changes the address only after a click, because mail scanners open links too. */
export const confirmEmailPage = ({ token, email }: { token: string; email: string }): string =>
  layout({
    title: 'Confirm your new email address',
    main: html`<p>From now on you sign in with <strong>${typed(email)}</strong>.</p>
<form class="card" method="post" action="${CONFIRM_EMAIL}">
<input type="hidden" name="token" value="${token}">
<button>Change the address</button>
</form>`,
  });

export const emailChangedPage = (email: string): string =>
  layout({
    title: 'Your email address was changed',
    main: html`<p>You now sign in with <strong>${typed(email)}</strong>. <a href="/dashboard">Go to the dashboard</a>.</p>`,
  });

/** The page of a link that cannot change the address. @param isTaken whether another account has the address */
export const deadEmailLinkPage = (isTaken: boolean): string =>
  layout({
    title: 'Your email address was not changed',
    main: html`<p>${
      isTaken
        ? 'Another account has this address by now.'
        : 'A link to change the address can be used once, and is valid for one hour and until the password changes.'
    } <a href="${PROFILE_PATH}">Request another link</a>.</p>`,
  });
