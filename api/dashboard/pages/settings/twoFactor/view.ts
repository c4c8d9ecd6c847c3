import { alert, type Failure, notice } from '../../../components/alert.ts';
import { passwordField } from '../../../components/credentialFields.ts';
import { inputField } from '../../../components/field.ts';
import { postForm } from '../../../components/form.ts';
import { count } from '../../../components/text.ts';
import { type Html, html } from '../../../frame/html.ts';
import { layout } from '../../../frame/layout.ts';
import type { Viewer } from '../../../frame/viewer.ts';
import { SETTINGS, TWO_FACTOR_PATH } from '../paths.ts';
import { qrCode } from './qrCode.ts';

const TITLE = 'Two-factor authentication';

/** The change that was just made. */
type TwoFactorNews = 'on' | 'off';

const NEWS: Record<TwoFactorNews, string> = {
  on: 'Two-factor authentication is on. From now on a sign-in asks for a code.',
  off: 'Two-factor authentication is off.',
};

/** The secrets of a second factor, which are shown once. */
export interface TwoFactorSecrets {
  /** `otpauth://` URI of the secret; null if only the backup codes are new. */
  uri: string | null;
  backupCodes: readonly string[];
}

interface TwoFactor {
  viewer: Viewer;
  /** Number of unused backup codes; null if two-factor authentication is off. */
  backupCodes: number | null;
  failure?: Failure;
  news?: TwoFactorNews | null;
}

interface Setup {
  viewer: Viewer;
  /** Null when the page is shown again after a wrong code. */
  secrets: TwoFactorSecrets | null;
  failure?: Failure;
}

const frame = (viewer: Viewer, main: Html): string =>
  layout({ title: TITLE, menu: { viewer, section: 'Settings' }, parent: SETTINGS, main });

/** Shows whether two-factor authentication is on, and the forms that change it. */
export function twoFactorPage({ viewer, backupCodes, failure, news = null }: TwoFactor): string {
  const form = (act: string, button: Html, field?: string) =>
    postForm({
      action: `${TWO_FACTOR_PATH}/${act}`,
      viewer,
      content: html`${passwordField(failure ?? null, field)}
${button}`,
    });
  const head = html`${alert(failure ?? null)}${news === null ? null : notice(html`<p>${NEWS[news]}</p>`)}`;
  if (backupCodes === null)
    return frame(
      viewer,
      html`${head}
<p>With two-factor authentication a sign-in asks for your password and for a code of an authenticator app on your phone. A
stolen password alone is then not enough. API keys are not affected.</p>
${form('enable', html`<button>Set up</button>`)}`,
    );
  return frame(
    viewer,
    html`${head}
<p>Two-factor authentication is on. ${count(backupCodes, 'backup code is', 'backup codes are')} left.</p>
<details class="confirm"><summary>Replace the backup codes</summary>
<p>The old codes become invalid.</p>
${form('backup-codes', html`<button>Replace the backup codes</button>`, 'currentPassword')}
</details>
<details class="confirm"><summary>Turn off two-factor authentication</summary>
<p>A sign-in will ask for the password only.</p>
${form('disable', html`<button class="danger">Turn off</button>`)}
</details>`,
  );
}

/** Backup codes, which are shown once. */
const codesOf = (codes: readonly string[]): Html => html`<section class="notice" aria-labelledby="backup">
<h2 id="backup">Backup codes</h2>
<p>Each of these codes replaces the authenticator app once. <strong>They are not shown again.</strong> Keep them where you find them without
your phone.</p>
<pre class="codes">${codes.join('\n')}</pre>
</section>`;

/** Splits a secret into groups of four characters, which are easier to type. */
const grouped = (secret: string): string => secret.replaceAll(/.{4}(?=.)/g, '$& ');

const scanStep = (uri: string): Html => html`<h2>1. Scan the code</h2>
<p>Scan it with an authenticator app, or enter the key in the app.</p>
${qrCode(uri, 'QR code of the key')}
<p>Key: <code>${grouped(new URL(uri).searchParams.get('secret') ?? '')}</code></p>`;

/** The second step of the set-up: the secret, the backup codes, and the form that proves that the app has the secret. */
export const setUpPage = ({ viewer, secrets, failure }: Setup): string =>
  frame(
    viewer,
    html`${alert(failure ?? null)}
${secrets === null || secrets.uri === null ? null : scanStep(secrets.uri)}
${secrets === null ? null : codesOf(secrets.backupCodes)}
<h2>${secrets === null ? 'Enter a code' : '2. Enter a code'}</h2>
${
  secrets === null
    ? html`<p>The key and the backup codes were shown before. If your app does not have the key, <a href="${TWO_FACTOR_PATH}">start again</a>.</p>`
    : null
}
${postForm({
  action: `${TWO_FACTOR_PATH}/verify`,
  viewer,
  content: html`${inputField({
    name: 'code',
    label: 'Code of the app',
    attributes: { autocomplete: 'one-time-code', inputmode: 'numeric', required: '', maxlength: 10 },
    failure: failure ?? null,
  })}
<button>Turn on two-factor authentication</button>`,
})}`,
  );

export const newCodesPage = (viewer: Viewer, codes: readonly string[]): string =>
  frame(viewer, html`${codesOf(codes)}\n<p><a href="${TWO_FACTOR_PATH}">Done</a></p>`);
