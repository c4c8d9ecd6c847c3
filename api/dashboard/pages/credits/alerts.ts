import { MAX_CREDITS } from '../../../billing/adjustment.ts';
import type { Failure } from '../../components/alert.ts';
import { inputField } from '../../components/field.ts';
import { postForm } from '../../components/form.ts';
import { count, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import type { Viewer } from '../../frame/viewer.ts';

export const ALERTS_PATH = '/dashboard/credits/alerts';

export const ATTENTION_PATH = '/dashboard/credits/attention';

export const THRESHOLD_LABEL = 'Email me below (credits)';

interface BalanceAlerts {
  viewer: Viewer;
  sendsMail: boolean;
  /** Value of the field for a new alert. */
  threshold?: string;
  failure?: Failure | null;
}

const alertItem = (viewer: Viewer, threshold: number): Html =>
  html`<li><span>below <strong>${count(threshold, 'credit')}</strong></span> ${postForm({
    action: `${ALERTS_PATH}/remove`,
    viewer,
    kind: 'inline',
    content: html`<input type="hidden" name="threshold" value="${threshold}">
<button class="plain">Remove<span class="unseen"> the alert below ${threshold}</span></button>`,
  })}</li>
`;

/** Switches the mails about refused requests and budgets of keys. */
function attentionForm(viewer: Viewer): Html {
  const isOn = viewer.account.mailsAttention === true;
  return html`<p>You ${isOn ? 'also get' : 'can also get'} an email when requests are refused, at most once a day, and when a key reaches 80&nbsp;% and 100&nbsp;% of its budget.</p>
${postForm({
  action: ATTENTION_PATH,
  viewer,
  kind: 'inline',
  content: html`<input type="hidden" name="mails" value="${isOn ? 'off' : 'on'}">
<button class="plain">${isOn ? 'Stop these emails' : 'Send me these emails'}</button>`,
})}`;
}

/** The alerts of the account, with a form to add one. */
export function balanceAlerts({ viewer, sendsMail, threshold = '', failure = null }: BalanceAlerts): Html {
  const { email, alerts: thresholds = [] } = viewer.account;
  const list =
    thresholds.length === 0
      ? null
      : html`<ul class="alerts">
${thresholds.toSorted((a, b) => b - a).map((it) => alertItem(viewer, it))}</ul>`;
  if (!sendsMail)
    return html`<h2 id="alerts">Alerts</h2>
<p>This installation does not send email. Use a <a href="/dashboard/webhooks">webhook</a> instead.</p>
${list}`;
  return html`<h2 id="alerts">Alerts</h2>
<p>When a charge takes the balance below a threshold, you get an email at ${typed(email)}. After more credits were added, the
alert can be sent again.</p>
${list}
${postForm({
  action: ALERTS_PATH,
  viewer,
  kind: 'filter',
  content: html`${inputField({
    name: 'threshold',
    label: THRESHOLD_LABEL,
    type: 'number',
    value: threshold,
    attributes: { required: '', min: 1, max: MAX_CREDITS, inputmode: 'numeric' },
    failure,
  })}
<button class="plain">Add alert</button>`,
})}
${attentionForm(viewer)}`;
}
