import type { KeyRow } from '../../../schemas/accountRows.ts';
import { type Html, html } from '../frame/html.ts';
import type { Failure, Labels } from './alert.ts';
import { choice, choices, inputField, textField } from './field.ts';

/** Values of the form of a key as entered, except the scope. */
export interface KeyDraft {
  name: string;
  tools: readonly string[];
  /** A day such as `2026-12-31`, or empty. */
  expires: string;
  dailyBudget: string;
  monthlyBudget: string;
  rateLimit: string;
  /** One IP address or CIDR block per line. */
  networks: string;
}

export const NO_DRAFT: KeyDraft = {
  name: '',
  tools: [],
  expires: '',
  dailyBudget: '',
  monthlyBudget: '',
  rateLimit: '',
  networks: '',
};

/** Limits that are suggested for keys and connections of programs that ask for them. */
const SUGGESTED = { monthlyBudget: '500', days: 90 } as const;

export const suggestedDraft = (now: Date): KeyDraft => ({
  ...NO_DRAFT,
  monthlyBudget: SUGGESTED.monthlyBudget,
  expires: new Date(now.getTime() + SUGGESTED.days * 86_400_000).toISOString().slice(0, 10),
});

export const KEY_LABELS = {
  name: 'Name',
  scopes: 'Access',
  tools: 'Allowed tools',
  expiresAt: 'Expires on (UTC)',
  dailyBudget: 'Credits per day (UTC)',
  monthlyBudget: 'Credits per month (UTC)',
  rateLimit: 'Requests per second',
  allowedNetworks: 'Allowed networks',
} as const satisfies Labels;

export const draftOfForm = (form: URLSearchParams): KeyDraft => ({
  name: form.get('name') ?? '',
  tools: form.getAll('tools'),
  expires: form.get('expiresAt') ?? '',
  dailyBudget: form.get('dailyBudget') ?? '',
  monthlyBudget: form.get('monthlyBudget') ?? '',
  rateLimit: form.get('rateLimit') ?? '',
  networks: form.get('allowedNetworks') ?? '',
});

const textOf = (value: number | null): string => (value === null ? '' : String(value));

export const draftOfKey = (key: KeyRow): KeyDraft => ({
  name: key.name,
  tools: key.tools ?? [],
  expires: key.expiresAt?.slice(0, 10) ?? '',
  dailyBudget: textOf(key.dailyBudget),
  monthlyBudget: textOf(key.monthlyBudget),
  rateLimit: textOf(key.rateLimit),
  networks: (key.allowedNetworks ?? []).join('\n'),
});

/** Converts a number field; text that is not a whole number is left to the schema, which refuses it. */
const numberOf = (text: string): unknown =>
  text.trim() === '' ? null : /^-?\d{1,15}$/.test(text.trim()) ? Number(text) : text;

/** Converts the form to the fields of the Account API, whose schema validates them. */
export function fieldsOf(draft: KeyDraft): Record<string, unknown> {
  const networks = draft.networks.split(/[\s,]+/).filter((line) => line !== '');
  return {
    name: draft.name,
    tools: draft.tools.length === 0 ? null : draft.tools,
    expiresAt: draft.expires === '' ? null : `${draft.expires}T23:59:59Z`,
    dailyBudget: numberOf(draft.dailyBudget),
    monthlyBudget: numberOf(draft.monthlyBudget),
    rateLimit: numberOf(draft.rateLimit),
    allowedNetworks: networks.length === 0 ? null : networks,
  };
}

interface Fields {
  draft: KeyDraft;
  failure: Failure | null;
  /** Noun for the owner of the limits in hints. Default: key. */
  subject?: string;
}

export const nameField = ({ draft, failure }: Fields): Html =>
  inputField({
    name: 'name',
    label: KEY_LABELS.name,
    value: draft.name,
    hint: 'Helps you to identify the key, for example where it is used.',
    attributes: { required: '', maxlength: 100, autocomplete: 'off' },
    failure,
  });

export function toolsField({ draft, failure, toolNames }: Fields & { toolNames: readonly string[] }): Html {
  const tool = (name: string) =>
    choice({
      name: 'tools',
      id: `tool-${name}`,
      value: name,
      label: name,
      checked: draft.tools.includes(name),
    });
  return html`<details${draft.tools.length > 0 ? html` open` : null}>
<summary>Restrict to some tools</summary>
${choices({ name: 'tools', label: `${KEY_LABELS.tools} (none selected: all)`, failure }, toolNames.map(tool))}
</details>`;
}

export const expiryField = ({ draft, failure, subject = 'key' }: Fields): Html =>
  inputField({
    name: 'expiresAt',
    label: KEY_LABELS.expiresAt,
    type: 'date',
    value: draft.expires,
    hint: `Leave empty for a ${subject} that does not expire.`,
    failure,
  });

/** The fields of budgets; only for keys that call tools. */
export const budgetFields = ({ draft, failure, subject = 'key' }: Fields): Html =>
  html`${inputField({
    name: 'dailyBudget',
    label: KEY_LABELS.dailyBudget,
    value: draft.dailyBudget,
    hint: `The most that calls with this ${subject} may spend from midnight to midnight (UTC). Leave empty for no budget.`,
    attributes: { inputmode: 'numeric', autocomplete: 'off' },
    failure,
  })}
${inputField({
  name: 'monthlyBudget',
  label: KEY_LABELS.monthlyBudget,
  value: draft.monthlyBudget,
  hint: `The most that calls with this ${subject} may spend in a calendar month (UTC). Leave empty for no budget.`,
  attributes: { inputmode: 'numeric', autocomplete: 'off' },
  failure,
})}`;

export const restrictionFields = ({ draft, failure }: Fields): Html =>
  html`${inputField({
    name: 'rateLimit',
    label: KEY_LABELS.rateLimit,
    value: draft.rateLimit,
    hint: 'Leave empty to allow as many as the account. The limit of the account always applies too.',
    attributes: { inputmode: 'numeric', autocomplete: 'off' },
    failure,
  })}
${textField({
  name: 'allowedNetworks',
  label: KEY_LABELS.allowedNetworks,
  value: draft.networks,
  rows: 3,
  hint: html`IP addresses and CIDR blocks, one per line, such as <code>203.0.113.7</code>, <code>198.51.100.0/24</code> or
<code>2001:db8::/32</code>. Empty: the key works from everywhere.`,
  attributes: { autocomplete: 'off', spellcheck: 'false' },
  failure,
})}`;

/** Whether a limit of the draft is set or refused, so that its section must be open. */
export const hasLimits = ({ draft, failure }: Fields): boolean =>
  [draft.dailyBudget, draft.monthlyBudget, draft.rateLimit, draft.networks].some((text) => text !== '') ||
  (failure?.faults ?? []).some(({ pointer }) =>
    /^\/(?:dailyBudget|monthlyBudget|rateLimit|allowed)/.test(pointer),
  );
