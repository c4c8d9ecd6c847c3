import type { Readiness } from '../../../platform/readiness.ts';
import { type Html, html } from '../html.ts';
import { badge } from './text.ts';

/** The checks of the readiness with their states. */
export const readinessList = ({ checks }: Readiness): Html =>
  html`<ul class="checks">${Object.entries(checks).map(
    ([name, state]) => html`<li>${name} ${badge(state, state === 'ok' ? 'good' : 'bad')}</li>
`,
  )}</ul>`;
