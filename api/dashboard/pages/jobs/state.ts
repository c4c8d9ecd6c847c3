import type { JobRow } from '../../../../schemas/jobs.ts';
import { badge } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';

const TONES = {
  queued: 'plain',
  running: 'plain',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'plain',
} as const;

/** The state of a job, with the error of one that failed. */
export const jobOutcome = ({ state, code }: Pick<JobRow, 'state' | 'code'>): Html =>
  html`${badge(state, TONES[state])}${
    state !== 'failed' || code === null
      ? null
      : html` <a href="/docs/errors#${code}"><code>${code}</code></a>`
  }`;
