import type { KeyRow } from '../../../../schemas/accountRows.ts';
import { alert, type Failure, notice } from '../../components/alert.ts';
import { choice, inputField } from '../../components/field.ts';
import { confirmation, postForm } from '../../components/form.ts';
import {
  budgetFields,
  expiryField,
  KEY_LABELS,
  type KeyDraft,
  nameField,
  restrictionFields,
  toolsField,
} from '../../components/keyFields.ts';
import { scopeOf, stateBadge, stateOf } from '../../components/keyState.ts';
import { secret } from '../../components/secret.ts';
import { copyable, count, moment, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';

export const KEYS_PATH = '/dashboard/keys';

export const keyPath = ({ id }: Pick<KeyRow, 'id'>): string => `${KEYS_PATH}/${encodeURIComponent(id)}`;

interface KeyPage {
  viewer: Viewer;
  row: KeyRow;
  draft: KeyDraft;
  toolNames: readonly string[];
  failure?: Failure;
  /** The new secret of a rotation; it is shown only this time. */
  rotated?: string;
  isChanged?: boolean;
}

const spentOf = (spent: number, budget: number | null): string =>
  budget === null ? count(spent, 'credit') : `${number(spent)} of ${count(budget, 'credit')}`;

const fact = (term: string, content: Html | string): Html =>
  html`<div><dt>${term}</dt> <dd>${content}</dd></div>
`;

function facts(row: KeyRow): Html {
  const { rateLimit, allowedNetworks, lastUsedAt, lastUsedFrom } = row;
  const from = lastUsedFrom === null || lastUsedFrom === '' ? null : html` from <code>${lastUsedFrom}</code>`;
  return html`<dl class="facts">
${fact('Prefix', copyable(row.prefix))}
${fact('Key id', copyable(row.id))}
${fact('Calls', html`<a href="/dashboard/calls?key=${encodeURIComponent(row.id)}">Calls with this key</a>`)}
${fact('State', stateBadge(row))}
${fact('Access', scopeOf(row))}
${
  row.scopes[0] === 'tools'
    ? html`${fact('Spent today (UTC)', spentOf(row.spentToday, row.dailyBudget))}
${fact('Spent this month (UTC)', spentOf(row.spentThisMonth, row.monthlyBudget))}`
    : null
}
${fact('Rate limit', rateLimit === null ? 'that of the account' : `${count(rateLimit, 'request')} per second`)}
${fact('Networks', allowedNetworks === null ? 'all' : html`<code>${allowedNetworks.join(', ')}</code>`)}
${fact('Last used', html`${moment(lastUsedAt)}${from}`)}
${fact('Expires', moment(row.expiresAt))}
${fact('Created', moment(row.createdAt))}
</dl>`;
}

function rotation({ viewer, row, failure }: KeyPage): Html {
  const { previousSecret } = row;
  const overlap = inputField({
    name: 'overlapHours',
    label: 'Hours for which the old secret stays valid (0 to 168)',
    value: '24',
    hint: '0 ends it now.',
    attributes: { inputmode: 'numeric', autocomplete: 'off', required: '' },
    failure: failure ?? null,
  });
  const force = choice({
    name: 'force',
    value: 'true',
    label: 'Replace the new secret of the earlier rotation; it ends now',
    checked: false,
  });
  return html`<h2>Secret</h2>
${
  previousSecret === null
    ? html`<p class="quiet">A rotation gives the key a new secret. The old one stays valid for some hours, so that you can deploy
the new one without an interruption. Limits and spend stay.</p>`
    : html`<p>The old secret <code>${previousSecret.prefix}…</code> is valid until ${moment(previousSecret.expiresAt)}, beside
<code>${row.prefix}…</code>.</p>`
}
${confirmation({
  action: `${keyPath(row)}/rotate`,
  viewer,
  label: 'Rotate the secret',
  text: 'A new secret is created and shown once.',
  extra: html`${overlap}${previousSecret === null ? null : force}`,
})}`;
}

function changeForm({ viewer, row, draft, toolNames, ...page }: KeyPage): Html {
  const fields = { draft, failure: page.failure ?? null };
  const isForTools = row.scopes[0] === 'tools';
  return html`<h2 id="limits">Name and limits</h2>
${postForm({
  action: `${keyPath(row)}/change`,
  viewer,
  content: html`${nameField(fields)}
${isForTools ? html`${budgetFields(fields)}` : null}
${restrictionFields(fields)}
${isForTools ? toolsField({ ...fields, toolNames }) : null}
${expiryField(fields)}
<button>Save</button>`,
})}`;
}

/** A key: its use, limits and secret. */
export function keyPage(page: KeyPage): string {
  const { viewer, row, failure, rotated } = page;
  const isLive = stateOf(row) === 'live';
  return layout({
    title: row.name,
    menu: { viewer, section: 'Keys' },
    parent: { path: KEYS_PATH, name: 'Keys' },
    main: html`${alert(failure ?? null, { ...KEY_LABELS, overlapHours: 'Hours' })}${
      rotated === undefined
        ? null
        : secret({
            title: html`The new secret of “${typed(row.name)}”`,
            value: rotated,
            advice: html`<p><strong>Copy it now:</strong> it will not be shown again.</p>`,
          })
    }${page.isChanged ? notice(html`<p>The key was changed.</p>`) : null}
${facts(row)}
${
  isLive
    ? html`${changeForm(page)}
${rotation(page)}
<h2>Revoke</h2>
${confirmation({
  action: `${keyPath(row)}/revoke`,
  viewer,
  label: 'Revoke',
  of: row.name,
  text: 'Calls with this key will be refused, with both secrets of a rotation. This cannot be undone.',
})}`
    : html`<p class="quiet">A ${stateOf(row)} key cannot be changed. <a href="${KEYS_PATH}#new">Create a new key</a> instead.</p>`
}`,
  });
}
