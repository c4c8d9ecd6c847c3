import type { CallRow } from '../../../../schemas/accountRows.ts';
import { isRecord } from '../../../../schemas/isRecord.ts';
import type { ToolDefinition } from '../../../../schemas/tool.ts';
import {
  KEPT_BYTES,
  KEPT_CALLS,
  type KeptContent,
  type Omission,
} from '../../../../store/calls/callContents.ts';
import { notice } from '../../components/alert.ts';
import { postForm } from '../../components/form.ts';
import { code } from '../../components/tabs.ts';
import { moment } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { resultView } from './result.ts';

export const CONTENTS_PATH = '/dashboard/calls/contents';

const NEWS: Readonly<Record<string, string>> = {
  on: 'Input and output of calls from now on are kept for 24 hours.',
  off: 'Input and output are no longer kept. Those that were kept have been deleted.',
};

const KEPT = html`<p>When this is on, the service keeps the input and the output or error of each call of a program or of this
dashboard, encrypted and for 24 hours. They contain everything that was sent to the tool, such as URLs, headers, texts and files, and
everything that it returned. Only you see them, on the page of the call.</p>
<p>The service does not keep:</p>
<ul>
<li>fields that the tool marks as secret, such as passwords</li>
<li>the output of a call that has such a field</li>
<li>inputs and outputs above ${KEPT_BYTES / 1024}&nbsp;KB</li>
<li>calls that are older than the newest ${KEPT_CALLS}</li>
<li>some calls while the service is busy</li>
</ul>`;

/** The switch for keeping input and output, with what it means. @param news the change that was just made */
export function keepingForm(viewer: Viewer, news: string): Html {
  const isOn = viewer.account.keepsContents === true;
  const done = Object.hasOwn(NEWS, news) ? NEWS[news] : undefined;
  const form = (keep: 'on' | 'off', label: string, kind: string) =>
    postForm({
      action: CONTENTS_PATH,
      viewer,
      kind: 'inline',
      content: html`<input type="hidden" name="keep" value="${keep}"><button class="${kind}">${label}</button>`,
    });
  return html`<h2 id="contents">Input and output</h2>
${done === undefined ? null : notice(html`<p>${done}</p>`)}
<p class="lead">${isOn ? 'Input and output of calls are kept for 24 hours.' : 'Input and output of calls are not kept.'}</p>
${KEPT}
${isOn ? form('off', 'Stop, and delete what is kept', 'danger') : form('on', 'Keep them for 24 hours', 'plain')}`;
}

const OMITTED: Readonly<Record<Omission, string>> = {
  large: `Not kept: larger than ${KEPT_BYTES / 1024} KB.`,
  secret: 'Not kept: the call contained a secret field, which its output could repeat.',
};

const omitted = (reason: Omission): Html => html`<p class="quiet">${OMITTED[reason]}</p>`;

function parsed(json: string): Record<string, unknown> {
  const value: unknown = JSON.parse(json);
  return isRecord(value) ? value : {};
}

const pretty = (label: string, json: string): Html => code(label, JSON.stringify(parsed(json), null, 2));

function outputView({ output }: KeptContent, tool: ToolDefinition | undefined): Html {
  if ('omitted' in output) return omitted(output.omitted);
  return output.isError || tool === undefined
    ? pretty('Output', output.json)
    : resultView(tool, parsed(output.json));
}

/** The kept input and output of a call, or why there are none. @param tool undefined if it no longer exists */
export function contentView(
  { account }: Viewer,
  { state }: Pick<CallRow, 'state'>,
  content: KeptContent | null,
  tool: ToolDefinition | undefined,
): Html {
  if (account.keepsContents !== true)
    return html`<p class="quiet">Input and output of calls are not kept. <a href="/dashboard/calls#contents">Keep them for 24 hours</a></p>`;
  if (state === 'running')
    return html`<p class="quiet">Input and output are shown here when the call has ended.</p>`;
  if (content === null)
    return html`<p class="quiet">Input and output of this call are not kept: it ended more than 24 hours ago or before you switched
keeping on, or was left out. <a href="/dashboard/calls#contents">What is kept</a></p>`;
  return html`<h2>Input</h2>
${'omitted' in content.input ? omitted(content.input.omitted) : pretty('Input', content.input.json)}
<h2>Output</h2>
${outputView(content, tool)}
<p class="quiet">Input and output are deleted at ${moment(content.expiresAt.toISOString())}.
<a href="/dashboard/calls#contents">What is kept</a></p>`;
}
