import type { Broadcast } from '../../../../store/accounts/broadcast.ts';
import { BROADCAST_LEVELS } from '../../../../store/status/statusDocs.ts';
import { alert, type Failure, notice } from '../../components/alert.ts';
import { inputField, selectField } from '../../components/field.ts';
import { confirmation, postForm, referenceField } from '../../components/form.ts';
import { count, moment } from '../../components/text.ts';
import { broadcastText } from '../../frame/broadcast.ts';
import { html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { OPERATOR_PATH } from '../paths.ts';

export const NOTICE_PATH = `${OPERATOR_PATH}/notice`;
export const NOTICE_LENGTH = 300;

/** Periods for which a notice can be shown, in hours. */
export const NOTICE_HOURS = [1, 4, 12, 24, 72, 168] as const;

/** The action that was just performed. */
export const NOTICE_NEWS = {
  published: 'The notice is on every page of the dashboard within seconds.',
  ended: 'The notice is no longer shown.',
} as const;
export type NoticeNews = keyof typeof NOTICE_NEWS;

const LABELS = { text: 'Text', level: 'Level', hours: 'Shown for' };

interface NoticePage {
  viewer: Viewer;
  current: Broadcast | null;
  draft: { text: string; level: string; hours: string };
  /** Idempotency reference, which becomes the id of the notice. */
  reference: string;
  failure?: Failure;
  news: NoticeNews | null;
}

const inWords = (hours: number): string => (hours < 24 ? count(hours, 'hour') : count(hours / 24, 'day'));

/** For operators: the notice that every page of the dashboard shows. */
export function operatorNoticePage(page: NoticePage): string {
  const { viewer, current, draft, reference, failure = null, news } = page;
  return layout({
    title: 'Notice',
    menu: { viewer, section: 'Operator' },
    parent: { path: OPERATOR_PATH, name: 'Operator' },
    main: html`${alert(failure, LABELS)}${news === null ? null : notice(html`<p>${NOTICE_NEWS[news]}</p>`)}
<p class="lead">Every signed-in user sees the notice on every page until it expires or the user dismisses it.</p>
<h2>Current notice</h2>
${
  current === null
    ? html`<p class="quiet">There is none.</p>`
    : html`<div class="broadcast ${current.level}">${broadcastText(current)}</div>
<p>Shown until ${moment(current.expiresAt.toISOString())}.</p>
${confirmation({
  action: `${NOTICE_PATH}/end`,
  viewer,
  label: 'End the notice',
  text: 'It disappears from all pages within seconds.',
})}`
}
<h2>New notice</h2>
${postForm({
  action: NOTICE_PATH,
  viewer,
  content: html`${referenceField(reference)}
${inputField({
  name: 'text',
  label: LABELS.text,
  value: draft.text,
  hint: 'Plain text. It replaces the current notice.',
  attributes: { required: '', maxlength: NOTICE_LENGTH, autocomplete: 'off' },
  failure,
})}
${selectField({
  name: 'level',
  label: LABELS.level,
  value: draft.level,
  options: BROADCAST_LEVELS.map((level) => ({ value: level, label: level })),
  failure,
})}
${selectField({
  name: 'hours',
  label: LABELS.hours,
  value: draft.hours,
  options: NOTICE_HOURS.map((hours) => ({ value: `${hours}`, label: inWords(hours) })),
  failure,
})}
<button>Publish the notice</button>`,
})}`,
  });
}
