import type { ToolDefinition } from '../../../schemas/tool.ts';
import { type Html, html } from '../../html.ts';
import { alert, type Failure, notice } from '../components/alert.ts';
import { postForm, referenceField } from '../components/form.ts';
import { resultView } from '../components/result.ts';
import { snippets } from '../components/snippets.ts';
import { suspension } from '../components/suspension.ts';
import { count, prose } from '../components/text.ts';
import { labelsOf, toolFields } from '../components/toolFields.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';

/** What a try of the tool answered. */
export interface Tried {
  output: Record<string, unknown>;
  charged: number;
  /** The form was sent a second time: the first answer again. */
  replayed: boolean;
}

interface ToolPage {
  viewer: Viewer;
  tool: ToolDefinition;
  available: number;
  /** Where programs reach the API. */
  baseUrl: string;
  input: Readonly<Record<string, unknown>>;
  /** New on every page: a form that is sent twice is one call. */
  attemptId: string;
  failure?: Failure;
  tried?: Tried;
}

/** Names the form's own field, which no tool can have. */
export const ATTEMPT_ID = '.attempt';

const answered = (tool: ToolDefinition, { output, charged, replayed }: Tried): Html =>
  html`${notice(
    html`<p>${replayed ? 'The answer to this form, again: nothing was charged for it a second time.' : `${count(charged, 'credit')} charged.`}</p>`,
  )}
<h2>Result</h2>
${resultView(tool, output)}`;

/** One tool: what it does and costs, a form to try it, and how a program calls it. */
export const toolPage = (page: ToolPage): string => {
  const { viewer, tool, available, failure = null, tried, input } = page;
  return layout({
    title: tool.title,
    menu: { viewer, section: 'Tools' },
    main: html`${suspension(viewer.account) ?? alert(failure, labelsOf(tool))}
<p class="price"><strong>${count(tool.price, 'credit')}</strong> a call; ${count(available, 'credit')} available.</p>
${tried === undefined ? null : answered(tool, tried)}
<details class="about"${tried === undefined && failure === null ? html` open` : null}><summary>About</summary>
<p>${prose(tool.description)}</p>
</details>
<h2>Try it</h2>
${postForm({
  action: `/dashboard/tools/${tool.name}`,
  viewer,
  content: html`${referenceField(page.attemptId, ATTEMPT_ID)}
${toolFields(tool, input, failure)}
<button>Call it for ${count(tool.price, 'credit')}</button>`,
})}
<h2>From a program</h2>
${snippets(tool, input, page.baseUrl)}`,
  });
};
