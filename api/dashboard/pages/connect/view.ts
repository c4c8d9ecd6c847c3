import { CONNECT_PATH, type OauthScope } from '../../../auth/oauthPlugin.ts';
import type { ConnectRequest } from '../../../auth/oauthServer.ts';
import { alert, type Failure } from '../../components/alert.ts';
import { choice, choices } from '../../components/field.ts';
import { postForm } from '../../components/form.ts';
import {
  budgetFields,
  expiryField,
  KEY_LABELS,
  type KeyDraft,
  toolsField,
} from '../../components/keyFields.ts';
import { typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';

/** Values of the form; the name is that of the client. */
export interface ConnectDraft extends KeyDraft {
  scopes: readonly string[];
}

const SCOPES: Record<OauthScope, string> = {
  tools: 'Call tools, which spends credits',
  account: 'Read the balance and the recent calls',
};

interface ConnectPage {
  viewer: Viewer;
  request: ConnectRequest;
  draft: ConnectDraft;
  toolNames: readonly string[];
  /** Query of the page, including the leading `?`; it contains the signed request. */
  query: string;
  failure?: Failure;
}

/** The part of the redirect address by which an owner can recognise the application. */
function destination(address: string): string {
  const { host, protocol } = new URL(address);
  return host === '' ? `a program on your device (${protocol})` : host;
}

const origin = ({ clientHost }: ConnectRequest): Html =>
  clientHost === null
    ? html`The application chose this name itself.`
    : html`The application belongs to <strong>${typed(clientHost)}</strong> and chose this name itself.`;

const LABELS = { ...KEY_LABELS, scopes: 'Permit the application to' };

/** Asks the owner whether an OAuth client may use the account, and within which limits. */
export function connectPage({ viewer, request, draft, toolNames, query, ...page }: ConnectPage): string {
  const failure = page.failure ?? null;
  const fields = { draft, failure, subject: 'connection' };
  const scope = (value: OauthScope): Html =>
    choice({
      name: 'scopes',
      id: `scope-${value}`,
      value,
      label: SCOPES[value],
      checked: draft.scopes.includes(value),
    });
  return layout({
    title: 'Connect an application',
    main: html`${alert(failure, LABELS)}
<p class="lead"><strong>${typed(request.clientName)}</strong> asks to use your account ${typed(viewer.user.email)}.</p>
<p>${origin(request)} Connect it only if you have just started this in the application. Afterwards you
are sent to <strong>${typed(destination(request.redirectUri))}</strong>.</p>
${postForm({
  action: `${CONNECT_PATH}${query}`,
  viewer,
  content: html`${choices({ name: 'scopes', label: LABELS.scopes, failure }, request.scopes.map(scope))}
${
  request.scopes.includes('tools')
    ? html`${toolsField({ ...fields, toolNames })}
${budgetFields(fields)}`
    : null
}
${expiryField(fields)}
<button name="decision" value="connect">Connect</button>
<button class="plain" name="decision" value="refuse" formnovalidate>Refuse</button>`,
})}
<p class="quiet">You can revoke the connection at any time under <a href="/dashboard/clients">Connected apps</a>.</p>`,
  });
}
