import { summaryOf } from '../../schemas/toolGroups.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { plainLayout, SITE_NAME } from '../site/layout.ts';
import { type TrialEnding, trialForm } from './trialForm.ts';
import { TRIALS_BY_ADDRESS } from './trialLimit.ts';
import { type Trial, trialPath } from './trials.ts';

/** Explanation of trial calls for the landing page and the result pages. */
export const trialNote: Html = html`<p class="note">Trial calls need no account and are the same calls as those with a key. An IP address can make
${TRIALS_BY_ADDRESS} calls per hour; only tools that reach no other machine can be tried. <a href="/docs/rate-limits#trial-calls">Limits of trial calls</a></p>`;

interface TrialPage {
  trial: Trial;
  input?: Readonly<Record<string, string>>;
  ending?: TrialEnding;
  /** URL of the site, without a trailing slash. */
  baseUrl: string;
}

/** The page with the form of a trial call and its result. */
export const trialPage = ({ trial, input, ending, baseUrl }: TrialPage): string =>
  plainLayout(
    {
      path: trialPath(trial.tool.name),
      title: `Try ${trial.tool.title} – ${SITE_NAME}`,
      description: `Try ${trial.tool.title} without an account.`,
      baseUrl,
      isUnlisted: true,
    },
    html`<h1>Try ${trial.tool.title}</h1>
<p class="lead">${summaryOf(trial.tool)}</p>
${trialForm(trial, input, ending ?? null)}${trialNote}
<p class="actions"><a class="button primary" href="/dashboard/sign-up">Create an account</a> <a class="button" href="/#try">Try another tool</a></p>`,
  );
