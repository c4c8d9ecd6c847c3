import { icon } from '../../components/icons.ts';
import { type Html, html } from '../../frame/html.ts';

/** One of the first steps of a new owner. */
export interface Step {
  title: string;
  /** Instruction for the step. */
  text: Html;
  isDone: boolean;
}

/** The first steps; null when all are done. */
export function checklist(steps: readonly Step[]): Html | null {
  const done = steps.filter(({ isDone }) => isDone).length;
  if (done === steps.length) return null;
  const next = steps.find(({ isDone }) => !isDone);
  return html`<section class="box steps" aria-labelledby="start">
<div class="head"><h2 id="start">Get started</h2> <p class="quiet">${done} of ${steps.length} done</p></div>
<ol>${steps.map(
    (
      step,
    ) => html`<li${step.isDone ? html` class="done"` : step === next ? html` class="next"` : null}>${icon(step.isDone ? 'check' : 'circle')}
<div><strong>${step.title}</strong>${step.isDone ? html`<span class="unseen"> (done)</span>` : html`<p>${step.text}</p>`}</div></li>
`,
  )}</ol>
</section>`;
}
