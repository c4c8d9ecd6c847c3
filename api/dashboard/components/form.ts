import { type Html, html } from '../frame/html.ts';
import type { Viewer } from '../frame/viewer.ts';
import { typed } from './text.ts';

interface PostForm {
  action: string;
  /** Whether the form has a file. The file must come after all fields. */
  hasFile?: boolean;
  viewer: Pick<Viewer, 'formToken'>;
  kind?: 'card' | 'filter' | 'inline' | 'run';
  content: Html;
}

/** Name of the field with the session's anti-CSRF token. */
export const FORM_TOKEN = 'formToken';

/** Hidden field with the form's idempotency reference. */
export const REFERENCE = 'reference';

/**
 * Identifies a form, so that sending it twice has one effect.
 *
 * @param reference a UUID, generated for each rendering of the page
 */
export const referenceField = (reference: string, name = REFERENCE): Html =>
  html`<input type="hidden" name="${name}" value="${reference}" autocomplete="off">`;

export const tokenField = ({ formToken }: Pick<Viewer, 'formToken'>): Html =>
  html`<input type="hidden" name="${FORM_TOKEN}" value="${formToken}">`;

/** A form that changes state. */
export const postForm = ({ action, viewer, kind = 'card', hasFile = false, content }: PostForm): Html =>
  html`<form class="${kind}" method="post" action="${action}"${hasFile ? html` enctype="multipart/form-data"` : null}>
${tokenField(viewer)}
${content}
</form>`;

/** A form that consists of one button. */
export const actionButton = (viewer: Viewer, action: string, label: string): Html =>
  postForm({ action, viewer, kind: 'inline', content: html`<button class="plain">${label}</button>` });

interface Confirmation {
  action: string;
  viewer: Viewer;
  /** Label of the button that opens the confirmation. */
  label: string;
  /** Explains the effect of the action. */
  text: string;
  /** Name of the affected object, for screen readers. */
  of?: string;
  extra?: Html;
}

/** An irreversible action with a confirmation step; works without JavaScript. */
export const confirmation = ({ action, viewer, label, text, of, extra }: Confirmation): Html =>
  html`<details class="confirm">
<summary>${label}${of === undefined ? null : html` <span class="unseen">${typed(of)}</span>`}</summary>
${postForm({
  action,
  viewer,
  kind: 'inline',
  content: html`<p>${text}</p>${extra ?? null}<button class="danger">${label}</button>`,
})}
</details>`;
