import { type Html, html } from '../../../frame/html.ts';

/** Name of the field with the browser's response, which the script fills in. */
export const CREDENTIAL = 'credential';

interface PasskeyForm {
  /** Whether the browser creates a passkey or asks for one. */
  step: 'create' | 'get';
  /** Path of the form. `optionsPath` of it returns the options for the browser. */
  action: string;
  content: Html;
}

/** Path from which the script of a form requests the options for the browser. */
export const optionsPath = (action: string): string => `${action}/options`;

/** A form that `passkeys.js` completes, and shows only in browsers that support passkeys: without it, it does nothing. */
export const passkeyForm = ({ step, action, content }: PasskeyForm): Html =>
  html`<form class="card" method="post" action="${action}" data-passkey="${step}" data-options="${optionsPath(action)}" hidden>
<input type="hidden" name="${CREDENTIAL}" autocomplete="off">
${content}
<p class="fault" role="alert"></p>
</form>`;
