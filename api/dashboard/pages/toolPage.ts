import type { ToolDefinition } from '../../../schemas/tool.ts';
import { alert, type Failure, notice } from '../components/alert.ts';
import { postForm, referenceField } from '../components/form.ts';
import { resultView } from '../components/result.ts';
import { snippets } from '../components/snippets.ts';
import { suspension } from '../components/suspension.ts';
import { count, prose } from '../components/text.ts';
import { labelsOf, toolFields } from '../components/toolFields.ts';
import { type Html, html } from '../html.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';

/** The result of a call from the form. */
export interface Tried {
  output: Record<string, unknown>;
  charged: number;
  /** The form was sent twice; this is the first result. */
  replayed: boolean;
}

interface ToolPage {
  viewer: Viewer;
  tool: ToolDefinition;
  available: number;
  /** Base URL of the API. */
  baseUrl: string;
  input: Readonly<Record<string, unknown>>;
  /** Idempotency reference, generated for each page: sending the form twice makes one call. */
  attemptId: string;
  failure?: Failure;
  tried?: Tried;
}

/** Field name of the idempotency reference; a tool's field cannot start with a dot. */
export const ATTEMPT_ID = '.attempt';

const answered = (tool: ToolDefinition, { output, charged, replayed }: Tried): Html =>
  html`${notice(
    html`<p>${replayed ? 'This form was sent twice. This is the first result; the call was charged once.' : `${count(charged, 'credit')} charged.`}</p>`,
  )}
<h2>Result</h2>
${resultView(tool, output)}`;

/** A tool: description, price, a form to try it, and example code. */
export const toolPage = (page: ToolPage): string => {
  const { viewer, tool, available, failure = null, tried, input } = page;
  return layout({
    title: tool.title,
    menu: { viewer, section: 'Tools' },
    main: html`${suspension(viewer.account) ?? alert(failure, labelsOf(tool))}
<p class="price"><strong>${count(tool.price, 'credit')}</strong> per call; ${count(available, 'credit')} available.</p>
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
<button>Run (${count(tool.price, 'credit')})</button>`,
})}
<h2>From a program</h2>
${snippets(tool, input, page.baseUrl)}`,
  });
};
