import type { KeyRow } from '../../../../schemas/accountRows.ts';
import type { ToolDefinition } from '../../../../schemas/tool.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { alert, empty, type Failure, notice } from '../../components/alert.ts';
import { choice, choices } from '../../components/field.ts';
import { confirmation, postForm, referenceField } from '../../components/form.ts';
import {
  budgetFields,
  expiryField,
  hasLimits,
  KEY_LABELS,
  type KeyDraft,
  NO_DRAFT,
  nameField,
  restrictionFields,
  toolsField,
} from '../../components/keyFields.ts';
import { scopeOf, stateBadge } from '../../components/keyState.ts';
import { pager } from '../../components/pager.ts';
import { secret } from '../../components/secret.ts';
import { snippetsWithKey } from '../../components/snippets.ts';
import { table } from '../../components/table.ts';
import { count, moment, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { KEYS_PATH, keyPath } from './keyView.ts';

/** A key that was just created, with an example call; null for keys that cannot call tools. */
export interface MadeKey {
  row: KeyRow & { key: string };
  example: { tool: ToolDefinition; baseUrl: string } | null;
}

/** Values of the form for a new key. */
export interface NewKeyDraft extends KeyDraft {
  scope: string;
}

export const NEW_KEY: NewKeyDraft = { ...NO_DRAFT, scope: 'tools' };

interface KeysPage {
  viewer: Viewer;
  keys: Page<KeyRow>;
  cursor: string | undefined;
  toolNames: readonly string[];
  draft: NewKeyDraft;
  /** Idempotency reference, generated for each page: sending the form twice creates one key. */
  reference: string;
  failure?: Failure;
  /** The key that was just created; it is shown only this time. */
  made?: MadeKey;
  /** The form was sent twice. */
  again?: boolean;
}

/** Reports the first call with a key. */
const firstCallPath = (id: string): string => `${keyPath({ id })}/first-call`;

/** A complete call with the key; `firstCall.js` reports when the call arrives. */
const firstCall = ({ id, key }: MadeKey['row'], { tool, baseUrl }: NonNullable<MadeKey['example']>): Html =>
  html`<section class="box" aria-labelledby="first">
<h2 id="first">Make a call with this key</h2>
<p>This calls <a href="/dashboard/tools/${tool.name}">${tool.name}</a> for ${count(tool.price, 'credit')}. The key is filled in.</p>
${snippetsWithKey({ tool, input: tool.examples[0]?.input ?? {}, baseUrl }, key)}
<p class="waiting" role="status" data-first-call="${firstCallPath(id)}"><a href="/dashboard/calls?key=${encodeURIComponent(id)}">Show the calls with this key</a></p>
</section>`;

const madeKey = ({ row, example }: MadeKey): Html => html`${secret({
  title: html`Your new key “${typed(row.name)}”`,
  value: row.key,
  advice: html`<p><strong>Copy it now:</strong> it will not be shown again. Send it with each call as
<code>Authorization: Bearer …</code>.</p>`,
})}
${example === null ? null : firstCall(row, example)}`;

const MADE_ALREADY =
  notice(html`<p>This form was sent twice; the key was created once. A key is shown only once: if you did
not copy it, revoke it and create another.</p>`);

function keyForm({ viewer, draft, toolNames, ...page }: KeysPage): Html {
  const failure = page.failure ?? null;
  const scope = (value: string, label: string) =>
    choice({
      name: 'scope',
      id: `scope-${value}`,
      type: 'radio',
      value,
      label,
      checked: draft.scope === value,
    });
  const fields = { draft, failure };
  return postForm({
    action: KEYS_PATH,
    viewer,
    content: html`${referenceField(page.reference)}
${nameField(fields)}
${choices({ name: 'scopes', label: KEY_LABELS.scopes, failure }, [
  scope('tools', 'Call tools'),
  scope('account', 'Manage the account: keys, webhooks, ledger'),
])}
${toolsField({ ...fields, toolNames })}
<details class="more"${hasLimits(fields) ? html` open` : null}>
<summary>Set budgets and limits</summary>
${budgetFields(fields)}
${restrictionFields(fields)}
</details>
${expiryField(fields)}
<button>Create key</button>`,
  });
}

/** Credits spent in the month, and the budget if there is one. */
const spentOf = ({ scopes, spentThisMonth, monthlyBudget }: KeyRow): string | null => {
  if (scopes[0] !== 'tools') return null;
  return monthlyBudget === null
    ? number(spentThisMonth)
    : `${number(spentThisMonth)} of ${number(monthlyBudget)}`;
};

const keyTable = (viewer: Viewer, keys: readonly KeyRow[]): Html =>
  table<KeyRow>(
    'Keys, newest first',
    [
      { title: 'Name', cell: (row) => html`<a href="${keyPath(row)}">${typed(row.name)}</a>` },
      {
        title: 'Prefix',
        cell: ({ id, prefix }) =>
          html`<a href="/dashboard/calls?key=${encodeURIComponent(id)}"><code>${prefix}…</code></a>`,
      },
      { title: 'Access', cell: scopeOf },
      { title: 'State', cell: stateBadge },
      { title: 'Spent this month', numeric: true, cell: spentOf },
      { title: 'Last used', cell: ({ lastUsedAt }) => moment(lastUsedAt) },
      { title: 'Expires', cell: ({ expiresAt }) => moment(expiresAt) },
      {
        title: 'Revoke',
        isAction: true,
        cell: ({ id, name, revokedAt }) =>
          revokedAt === null
            ? confirmation({
                action: `${keyPath({ id })}/revoke`,
                viewer,
                label: 'Revoke',
                of: name,
                text: 'Calls with this key will be refused. This cannot be undone.',
              })
            : moment(revokedAt),
      },
    ],
    keys,
  );

/** The keys of an account, with a form to create one. */
export function keysPage(page: KeysPage): string {
  const { viewer, keys, cursor, made } = page;
  return layout({
    title: 'Keys',
    menu: { viewer, section: 'Keys' },
    main: html`<p class="lead">Programs send a key with each call. Use one key for each program, so that you can revoke each key separately.</p>
${alert(page.failure ?? null, KEY_LABELS)}${made === undefined ? null : madeKey(made)}${page.again ? MADE_ALREADY : null}
${
  keys.items.length === 0
    ? empty(html`<p>There are no keys yet. Create one below to call tools from a program.</p>`)
    : keyTable(viewer, keys.items)
}
${pager({ path: KEYS_PATH, query: {}, cursor, nextCursor: keys.nextCursor })}
<h2 id="new">New key</h2>
${keyForm(page)}`,
  });
}
