import { type Html, html } from '../../html.ts';
import type { Viewer } from '../viewer.ts';
import { typed } from './text.ts';

interface PostForm {
  action: string;
  viewer: Pick<Viewer, 'formToken'>;
  kind?: 'card' | 'inline';
  content: Html;
}

/** The field that every form of a session carries. */
export const FORM_TOKEN = 'formToken';

/** The field in which a form carries its own name. */
export const REFERENCE = 'reference';

/**
 * Names a form, so that one that is sent twice acts once.
 *
 * @param reference a UUID, new on every page
 */
export const referenceField = (reference: string, name = REFERENCE): Html =>
  html`<input type="hidden" name="${name}" value="${reference}" autocomplete="off">`;

/** A form that changes something. */
export const postForm = ({ action, viewer, kind = 'card', content }: PostForm): Html =>
  html`<form class="${kind}" method="post" action="${action}">
<input type="hidden" name="${FORM_TOKEN}" value="${viewer.formToken}">
${content}
</form>`;

/** One button that does something at once. */
export const actionButton = (viewer: Viewer, action: string, label: string): Html =>
  postForm({ action, viewer, kind: 'inline', content: html`<button class="plain">${label}</button>` });

interface Confirmation {
  action: string;
  viewer: Viewer;
  /** What opens the question. */
  label: string;
  /** The question's answer: what will happen. */
  text: string;
  /** What the action works on, for who cannot see where the button stands. */
  of?: string;
  extra?: Html;
}

/** What cannot be undone is asked about first; this needs no script. */
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
