import { type Html, html } from '../frame/html.ts';

interface Tab {
  title: string;
  content: Html;
}

/** Sections with headings, which `tabs.js` shows one at a time. */
export const tabs = (
  label: string,
  items: readonly Tab[],
): Html => html`<div class="tabs" data-tabs="${label}">
${items.map(
  ({ title, content }) => html`<section>
<h3>${title}</h3>
${content}
</section>
`,
)}</div>`;

/** Source code with a copy button (`copy.js`). */
export const code = (label: string, text: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}" data-copy>${text}</pre>`;
