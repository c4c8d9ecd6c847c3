import type { Snippet } from '../dashboard/components/snippets.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { codeBlock } from './highlight.ts';

/** A request in several languages, of which one is shown at a time. @param group name that no other request of the page has */
export const codeExamples = (snippets: readonly Snippet[], group: string): Html =>
  html`${snippets.map(
    ({ title, name, text }, position) => html`<details name="${group}"${position === 0 ? html` open` : null}>
<summary>${title}</summary>
${codeBlock(text, name)}</details>
`,
  )}`;
