import type { Readiness } from '../../../platform/readiness.ts';
import { badge } from '../components/text.ts';
import { type Html, html } from '../frame/html.ts';

/** The checks of the readiness with their states. */
export const readinessList = ({ checks }: Readiness): Html =>
  html`<ul class="checks">${Object.entries(checks).map(
    ([name, state]) => html`<li>${name} ${badge(state, state === 'ok' ? 'good' : 'bad')}</li>
`,
  )}</ul>`;
