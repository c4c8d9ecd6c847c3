import { type Html, html } from '../dashboard/frame/html.ts';
import { renderInline } from './markdown.ts';

/** Lines of the form's request that are visible without scrolling. */
const LONGEST_INPUT = 12;

interface RunField {
  name: string;
  in: 'path' | 'query';
  isRequired: boolean;
}

interface RunForm {
  method: string;
  /** Path with parameters in braces. */
  path: string;
  fields?: readonly RunField[];
  /** JSON of the request; null without a body. */
  input: string | null;
  /** Scope of the key that the request needs; null: none. */
  scope: 'tools' | 'account' | null;
  /** Text of the button, such as `Run (25 credits)`. */
  button: string;
  /** A warning in Markdown. */
  note?: string;
}

const fieldMarkup = ({ name, in: place, isRequired }: RunField): Html =>
  html`<p><label for="run-${place}-${name}">${name}${isRequired ? null : ' (optional)'}</label>
<input id="run-${place}-${name}" data-${place}="${name}" autocomplete="off"${isRequired ? html` required` : null}></p>
`;

/** A form that sends a request with the visitor's key, which the script run.js shows. */
export function runForm({ method, path, fields = [], input, scope, button, note }: RunForm): Html {
  return html`<details class="try run" hidden>
<summary>${scope === null ? 'Run it' : 'Run it with your key'}</summary>
<form data-method="${method}" data-path="${path}">
${
  scope === null
    ? null
    : html`<p class="whole"><label for="run-key">API key of scope ${scope}, kept only on this page until you leave it</label>
<input id="run-key" type="password" autocomplete="off" required></p>
`
}${fields.map(fieldMarkup)}${
  input === null
    ? null
    : html`<p class="whole"><label for="run-input">Request</label>
<textarea id="run-input" rows="${Math.min(input.split('\n').length, LONGEST_INPUT)}" spellcheck="false">${input}</textarea></p>
`
}${note === undefined ? null : html`<p class="whole note">${renderInline(note)}</p>`}<p><button class="button primary">${button}</button></p>
</form>
<div class="ending" role="status"></div>
</details>
`;
}
