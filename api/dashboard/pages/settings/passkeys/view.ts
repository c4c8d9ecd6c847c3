import type { Passkey } from '../../../../../store/accounts/passkeys.ts';
import { alert, empty, type Failure, notice } from '../../../components/alert.ts';
import { passwordField } from '../../../components/credentialFields.ts';
import { inputField } from '../../../components/field.ts';
import { confirmation, postForm, tokenField } from '../../../components/form.ts';
import { table } from '../../../components/table.ts';
import { moment, typed } from '../../../components/text.ts';
import { type Html, html } from '../../../frame/html.ts';
import { layout } from '../../../frame/layout.ts';
import type { Viewer } from '../../../frame/viewer.ts';
import { PASSKEYS_PATH, SETTINGS } from '../paths.ts';
import { passkeyForm } from './form.ts';

export const PASSKEY_NAME_LENGTH = 60;
export const ADD_PASSKEY = `${PASSKEYS_PATH}/add`;
export const passkeyPath = (id: string): string => `${PASSKEYS_PATH}/${encodeURIComponent(id)}`;

/** The change that was just made. */
export const PASSKEY_NEWS = ['added', 'renamed', 'removed'] as const;
type PasskeyNews = (typeof PASSKEY_NEWS)[number];

const NEWS: Record<PasskeyNews, string> = {
  added: 'The passkey was added. You can sign in with it from now on.',
  renamed: 'The passkey was renamed.',
  removed:
    'The passkey was removed, and all other sessions were ended. Delete it on your device too, so that the device does not offer it any more.',
};

interface PasskeysPage {
  viewer: Viewer;
  /** Oldest first. */
  rows: readonly Passkey[];
  failure: Failure | null;
  news: PasskeyNews | null;
}

interface PasskeyPage {
  viewer: Viewer;
  row: Passkey;
  failure: Failure | null;
}

const nameField = (failure: Failure | null, value = ''): Html =>
  inputField({
    name: 'name',
    label: 'Name',
    value,
    hint: 'Where the passkey is, such as “Phone” or the name of a password manager.',
    attributes: { autocomplete: 'off', required: '', maxlength: PASSKEY_NAME_LENGTH },
    failure,
  });

const timesOf = ({ createdAt, lastUsedAt }: Passkey) => ({
  added: moment(createdAt.toISOString()),
  used: moment(lastUsedAt?.toISOString() ?? null),
});

const passkeyTable = (rows: readonly Passkey[]): Html =>
  table<Passkey>(
    'Passkeys, oldest first',
    [
      { title: 'Name', cell: ({ id, name }) => html`<a href="${passkeyPath(id)}">${typed(name)}</a>` },
      { title: 'Added', cell: (row) => timesOf(row).added },
      { title: 'Last sign-in', cell: (row) => timesOf(row).used },
    ],
    rows,
  );

/** The passkeys of a user, with a form to add one. */
export const passkeysPage = ({ viewer, rows, failure, news }: PasskeysPage): string =>
  layout({
    title: 'Passkeys',
    menu: { viewer, section: 'Settings' },
    parent: SETTINGS,
    main: html`${alert(failure)}${news === null ? null : notice(html`<p>${NEWS[news]}</p>`)}
<p>With a passkey you sign in by the screen lock of your device, or by a security key with a PIN, instead of the password and a code. It cannot
be guessed, and it works on no other site. Your password stays valid, and changes of your settings still ask for it.</p>
${rows.length === 0 ? empty(html`<p>You have no passkeys.</p>`) : passkeyTable(rows)}
<h2>Add a passkey</h2>
<p data-without-passkeys>This needs JavaScript and a browser that supports passkeys.</p>
${passkeyForm({
  step: 'create',
  action: ADD_PASSKEY,
  content: html`${tokenField(viewer)}
${nameField(failure)}
${passwordField(failure)}
<button>Add a passkey</button>`,
})}`,
  });

/** A passkey, with the forms that rename and remove it. */
export function passkeyPage({ viewer, row, failure }: PasskeyPage): string {
  const { added, used } = timesOf(row);
  return layout({
    title: 'Passkey',
    menu: { viewer, section: 'Settings' },
    parent: { path: PASSKEYS_PATH, name: 'Passkeys' },
    main: html`${alert(failure)}
<p class="lead">${typed(row.name)}</p>
<dl class="facts">
<div><dt>Added</dt> <dd>${added}</dd></div>
<div><dt>Last sign-in</dt> <dd>${used}</dd></div>
</dl>
<h2>Rename</h2>
${postForm({
  action: `${passkeyPath(row.id)}/rename`,
  viewer,
  content: html`${nameField(failure, row.name)}
<button>Rename</button>`,
})}
<h2>Remove</h2>
${confirmation({
  action: `${passkeyPath(row.id)}/remove`,
  viewer,
  label: 'Remove',
  of: row.name,
  text: 'Nobody can sign in with it any more. You stay signed in here and are signed out everywhere else.',
})}`,
  });
}
