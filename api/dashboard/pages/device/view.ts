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
import { typed } from '../../components/text.ts';
import { html } from '../../frame/html.ts';
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
  draft: KeyDraft;
  toolNames: readonly string[];
  failure?: Failure;
}

/** Asks the owner whether the command may get an API key, and with which limits. */
export function devicePage({ viewer, code, draft, toolNames, ...page }: DevicePage): string {
  const failure = page.failure ?? null;
  const fields = { draft, failure };
  return layout({
    title: TITLE,
    menu: { viewer, section: 'Keys' },
    main: html`${alert(failure, KEY_LABELS)}
<p class="lead">A program asks for an API key of your account ${typed(viewer.user.email)}.</p>
<p>Approve it only if you have just run <code>utility-tools login</code> yourself and it shows this code:
<strong><code>${shownCode(code)}</code></strong></p>
${postForm({
  action: DEVICE_PATH,
  viewer,
  content: html`<input type="hidden" name="userCode" value="${code}">
${nameField(fields)}
${toolsField({ ...fields, toolNames })}
${budgetFields(fields)}
${expiryField(fields)}
<button name="decision" value="approve">Approve</button>
<button class="plain" name="decision" value="refuse" formnovalidate>Refuse</button>`,
})}
<p class="quiet">The key can call tools but not manage the account. You can change or revoke it at any time under
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
