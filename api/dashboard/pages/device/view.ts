import type { DeviceOrigin } from '../../../../store/keys/deviceLogins.ts';
import { shownCode } from '../../../auth/deviceLogin.ts';
import { DEVICE_PATH } from '../../../auth/devicePlugin.ts';
import { alert, type Failure, notice } from '../../components/alert.ts';
import { inputField } from '../../components/field.ts';
import { postForm } from '../../components/form.ts';
import {
  budgetFields,
  expiryField,
  KEY_LABELS,
  type KeyDraft,
  nameField,
  toolsField,
} from '../../components/keyFields.ts';
import { moment, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';

const TITLE = 'Sign in the command line';

/** Asks for the code that the command shows. */
export const codePage = ({ viewer, failure }: { viewer: Viewer; failure: Failure | null }): string =>
  layout({
    title: TITLE,
    menu: { viewer, section: 'Keys' },
    main: html`${alert(failure)}
<p>The command <code>utility-tools login</code> shows a code. Enter it here.</p>
<form class="card" method="get" action="${DEVICE_PATH}">
${inputField({
  name: 'user_code',
  label: 'Code',
  attributes: {
    required: '',
    autocomplete: 'off',
    autocapitalize: 'characters',
    spellcheck: 'false',
    maxlength: 20,
  },
  failure: null,
})}
<button>Continue</button>
</form>`,
  });

interface DevicePage {
  viewer: Viewer;
  code: string;
  origin: DeviceOrigin;
  draft: KeyDraft;
  toolNames: readonly string[];
  failure?: Failure;
}

const ABILITIES: Readonly<Record<DeviceOrigin['scope'], string>> = {
  tools: 'The key can call tools but not manage the account.',
  account:
    'The key can manage the account: read calls and events, create and revoke keys, and change webhook endpoints. It cannot call tools.',
};

/** What is signed in. The program states the name of the machine itself. */
const facts = ({ device, address, startedAt, scope }: DeviceOrigin): Html => html`<dl class="facts">
<div><dt>Program</dt> <dd><code>utility-tools</code></dd></div>
<div><dt>Machine</dt> <dd>${device === '' ? 'not stated' : typed(device)}</dd></div>
<div><dt>Client address</dt> <dd>${address}</dd></div>
<div><dt>Started</dt> <dd>${moment(startedAt.toISOString())}</dd></div>
<div><dt>Key for</dt> <dd>${scope === 'tools' ? 'calling tools' : 'managing the account'}</dd></div>
</dl>`;

/** Asks the owner whether the command may get an API key, and with which limits. */
export function devicePage({ viewer, code, origin, draft, toolNames, ...page }: DevicePage): string {
  const failure = page.failure ?? null;
  const fields = { draft, failure };
  const { scope } = origin;
  return layout({
    title: TITLE,
    menu: { viewer, section: 'Keys' },
    main: html`${alert(failure, KEY_LABELS)}
<p class="lead">A program asks for an API key of your account ${typed(viewer.user.email)}.</p>
${facts(origin)}
<p>Approve it only if you have just run <code>utility-tools login</code> yourself and it shows this code:
<strong><code>${shownCode(code)}</code></strong></p>
${postForm({
  action: DEVICE_PATH,
  viewer,
  content: html`<input type="hidden" name="userCode" value="${code}">
${nameField(fields)}
${
  scope === 'tools'
    ? html`${toolsField({ ...fields, toolNames })}
${budgetFields(fields)}`
    : null
}
${expiryField(fields)}
<button name="decision" value="approve">Approve</button>
<button class="plain" name="decision" value="refuse" formnovalidate>Refuse</button>`,
})}
<p class="quiet">${ABILITIES[scope]} You can change or revoke it at any time under
<a href="/dashboard/keys">Keys</a>.</p>`,
  });
}

/** Tells the owner that the command continues. */
export const doneDevicePage = ({ viewer, isApproved }: { viewer: Viewer; isApproved: boolean }): string =>
  layout({
    title: TITLE,
    menu: { viewer, section: 'Keys' },
    main: notice(
      isApproved
        ? html`<p>Approved. Return to the command line, which gets the key within a few seconds.</p>`
        : html`<p>Refused. The command gets no key.</p>`,
    ),
  });
