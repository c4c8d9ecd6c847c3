import type { ScheduleRow, ScheduleRunRow } from '../../../../schemas/schedules.ts';
import { badge } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';

const TONES = {
  waiting: 'plain',
  running: 'plain',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'plain',
  skipped: 'plain',
} as const;

/** The state of a run, with the reason why it failed or was skipped. */
export const runBadge = ({ state, code }: Pick<ScheduleRunRow, 'state' | 'code'>): Html =>
  html`${badge(state, TONES[state])}${code === null || state === 'cancelled' ? null : html` <code>${code}</code>`}`;

const PAUSES = {
  requested: 'Its times pass without a run until it is continued.',
  account_suspended: 'It paused by itself, because the account is suspended.',
  key_revoked:
    'It paused by itself, because its API key was revoked, has expired or may not call its tools any more.',
} as const;

/** Why a schedule is paused; null if it is not. */
export const pauseText = ({ pauseReason }: Pick<ScheduleRow, 'pauseReason'>): string | null =>
  pauseReason === null ? null : PAUSES[pauseReason];

export const scheduleBadge = ({ paused }: Pick<ScheduleRow, 'paused'>): Html =>
  badge(paused ? 'paused' : 'active', paused ? 'plain' : 'good');
