import { ERRORS } from '../../schemas/errors.ts';
import { type Failure, reasons } from '../dashboard/components/alert.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { inWords } from '../site/cardResult.ts';
import { codeBlock } from '../site/highlight.ts';
import { outputOf } from '../site/toolPage.ts';
import { TRIAL_CHARACTERS, type Trial, trialPath } from './trials.ts';

/** How a trial call ended. */
export type TrialEnding = { output: Record<string, unknown> } | { failure: Failure };

function field({ tool }: Trial, name: string, value: string): Html {
  const { enum: values, default: fallback } = tool.input.properties[name] ?? {};
  const id = `${tool.name}-${name}`;
  const label = html`<label for="${id}">${inWords(name)}</label>`;
  if (!Array.isArray(values))
    return html`<p class="whole">${label}
<input id="${id}" name="${name}" value="${value}" maxlength="${TRIAL_CHARACTERS}" autocomplete="off" required></p>
`;
  const chosen = value === '' ? String(fallback) : value;
  return html`<p>${label}
<select id="${id}" name="${name}">${values.map(
    (option) => html`<option${String(option) === chosen ? html` selected` : null}>${String(option)}</option>`,
  )}</select></p>
`;
}

/** The image of a result, if it is one. */
function picture({ tool }: Trial, output: Record<string, unknown>): Html | null {
  if (tool.raw === undefined) return null;
  const [data, type] = [output[tool.raw.data], output[tool.raw.mimeType]];
  return html`<img class="symbol" src="data:${String(type)};base64,${String(data)}" alt="The result of ${tool.title}">
`;
}

function endingOf(trial: Trial, ending: TrialEnding): Html {
  if ('output' in ending)
    return html`${picture(trial, ending.output)}${codeBlock(outputOf(ending.output), 'json', 'Response')}`;
  const { code } = ending.failure;
  return html`<div class="refused"><p><strong>${code === undefined ? 'Refused' : ERRORS[code].title}</strong></p>
${reasons(ending.failure)}</div>
`;
}

/**
 * The form with which a visitor tries a tool, and the result below it. The script try.js shows the result without leaving the page.
 *
 * @param input values of the fields; default: those with which the form starts
 */
export function trialForm(
  trial: Trial,
  input: Readonly<Record<string, string>> = trial.input,
  ending: TrialEnding | null = null,
): Html {
  const { tool, fields } = trial;
  return html`<div class="try">
<form method="post" action="${trialPath(tool.name)}">
${fields.map((name) => field(trial, name, input[name] ?? ''))}<p><button class="button primary">Try it</button></p>
</form>
<div class="ending" role="status">${ending === null ? null : endingOf(trial, ending)}</div>
</div>
`;
}
