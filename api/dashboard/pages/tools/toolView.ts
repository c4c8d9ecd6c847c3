import type { Pack } from '../../../../schemas/formats/packs.ts';
import { secretFields, type ToolDefinition } from '../../../../schemas/tool.ts';
import { summaryOf } from '../../../../schemas/toolGroups.ts';
import { moneyOf } from '../../../billing/prices.ts';
import { callFailure, type Failure, notice } from '../../components/alert.ts';
import { postForm, referenceField } from '../../components/form.ts';
import { icon } from '../../components/icons.ts';
import { remedyOf } from '../../components/remedy.ts';
import { snippets } from '../../components/snippets.ts';
import { suspension } from '../../components/suspension.ts';
import { copyable, count, paragraphs, prose } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { newBatchPath } from '../batches/paths.ts';
import { callPath, RUNS_PATH } from '../calls/callView.ts';
import { resultView } from '../calls/result.ts';
import { labelsOf, toolFields } from './fields.ts';
import { toolIcon } from './icons.ts';

export const TOOLS_PATH = '/dashboard/tools';

export const toolPath = (name: string): string => `${TOOLS_PATH}/${name}`;

/** The result of a call from the form. */
export interface Tried {
  output: Record<string, unknown>;
  callId: string;
  charged: number;
  /** The form was sent twice; this is the first result. */
  replayed: boolean;
  /** Whether this is the result of an earlier call, because of `maxAge`. */
  reused: boolean;
}

interface ToolPage {
  viewer: Viewer;
  tool: ToolDefinition;
  available: number;
  /** Packs on sale, from which the price in money derives. */
  packs: readonly Pack[];
  baseUrl: string;
  /** Values of the form; fields without a value have their default. */
  input: Readonly<Record<string, unknown>>;
  /** Idempotency reference, generated for each page: sending the form twice makes one call. */
  attemptId: string;
  requestId: string;
  failure?: Failure;
  tried?: Tried;
}

/** Field name of the idempotency reference; a tool's field cannot start with a dot. */
export const ATTEMPT_ID = '.attempt';

const answered = (tool: ToolDefinition, { output, callId, charged, ...tried }: Tried): Html =>
  html`${notice(
    html`<p>${
      tried.replayed
        ? 'This form was sent twice. This is the first result; the call was charged once.'
        : `${count(charged, 'credit')} charged.${tried.reused ? ' This is the result of an earlier call.' : ''}`
    } <a href="${callPath(callId)}">Details of the call</a></p>`,
  )}
<section class="box" aria-labelledby="result">
<h2 id="result">Result</h2>
${resultView(tool, output)}
</section>`;

const failed = ({ tool, requestId }: ToolPage, failure: Failure): Html => {
  const { code } = failure;
  // The faults of an invalid input say what to correct.
  const remedy = code === undefined || code === 'invalid_input' ? null : remedyOf(code);
  return callFailure(failure, labelsOf(tool), remedy, requestId);
};

/** A tool: description, price, a form to try it, and example code. */
export const toolPage = (page: ToolPage): string => {
  const { viewer, tool, available, failure = null, tried, input } = page;
  const example = tool.examples[0]?.input ?? {};
  const money = moneyOf(tool.price, page.packs);
  const isFilled = Object.keys(input).length > 0;
  return layout({
    title: tool.title,
    menu: { viewer, section: 'Tools' },
    parent: { path: TOOLS_PATH, name: 'Tools' },
    main: html`${suspension(viewer.account) ?? (failure === null ? null : failed(page, failure))}
<p class="lead">${icon(toolIcon(tool.name))}${prose(summaryOf(tool))}</p>
<p class="price">${copyable(tool.name)} <strong>${count(tool.price, 'credit')}</strong> per call${money === null ? null : html` (${money})`}; ${count(available, 'credit')} available. Failed calls are not charged.${secretFields(tool).length > 0 ? null : html` <a href="${newBatchPath(tool.name)}">Run it for a CSV file</a>`}</p>
${tried === undefined ? null : answered(tool, tried)}
<div class="split">
<section class="box" aria-labelledby="try">
<div class="head"><h2 id="try">Try it</h2><a href="${toolPath(tool.name)}?example=1">Use example</a></div>
${postForm({
  action: toolPath(tool.name),
  viewer,
  kind: 'run',
  content: html`${referenceField(page.attemptId, ATTEMPT_ID)}
${toolFields(tool, input, failure)}
<div class="actions"><button data-run>${icon('play')}<span>Run (${count(tool.price, 'credit')})</span></button></div>
<p class="progress" role="status" data-runs="${RUNS_PATH}/${page.attemptId}"></p>`,
})}
</section>
<div>
<section class="box" aria-labelledby="code">
<h2 id="code">From a program</h2>
${snippets({ tool, input: isFilled ? input : example, baseUrl: page.baseUrl })}
</section>
<section class="box" aria-labelledby="about">
<h2 id="about">About</h2>
${paragraphs(tool.description).map(
  (text) => html`<p>${prose(text)}</p>
`,
)}</section>
</div>
</div>`,
  });
};
