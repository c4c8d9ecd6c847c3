import type { Broadcast } from '../../../store/accounts/broadcast.ts';
import { postForm } from '../components/form.ts';
import { icon } from '../components/icons.ts';
import { typed } from '../components/text.ts';
import { type Html, html } from './html.ts';
import type { Viewer } from './viewer.ts';

/** Text of a notice with an icon for its level. */
export const broadcastText = ({ text, level }: Pick<Broadcast, 'text' | 'level'>): Html =>
  html`<p>${icon(level)}<strong class="unseen">${level === 'warning' ? 'Warning: ' : 'Notice: '}</strong>${typed(text)}</p>`;

/** The operator's notice above a page, with a button that hides it; null if there is none. */
export const broadcastBar = (viewer: Viewer): Html | null =>
  viewer.broadcast === null
    ? null
    : html`<aside class="broadcast ${viewer.broadcast.level}" aria-label="Notice of the operator">
${broadcastText(viewer.broadcast)}
${postForm({
  action: '/dashboard/notice/dismiss',
  viewer,
  kind: 'inline',
  content: html`<input type="hidden" name="id" value="${viewer.broadcast.id}"><button class="plain">Dismiss</button>`,
})}
</aside>
`;
