import type { ErrorCode } from '../../../schemas/errors.ts';
import { remedyInWords } from '../../openapi/remedies.ts';
import { type Html, html } from '../frame/html.ts';
import { prose } from './text.ts';

/** The page on which an owner removes the cause of an error. */
interface Action {
  label: string;
  href: string;
}

/** Ids of the connections of apps, which are not on the page of keys, begin so. */
const CONNECTION = 'con_';

/** @param keyId id of the key or connection of the request; null if it is not known */
function keyHref(keyId: string | null): string {
  if (keyId === null) return '/dashboard/keys';
  return keyId.startsWith(CONNECTION) ? '/dashboard/clients' : `/dashboard/keys/${encodeURIComponent(keyId)}`;
}

function actionOf(code: ErrorCode, keyId: string | null): Action | null {
  switch (code) {
    case 'insufficient_credits':
      return { label: 'Buy credits', href: '/dashboard/credits' };
    case 'account_suspended':
      return { label: 'See why', href: '/dashboard' };
    case 'key_budget_exceeded':
      return { label: 'Raise the budget', href: keyHref(keyId) };
    case 'tool_not_allowed':
    case 'network_not_allowed':
      return { label: 'Change the key', href: keyHref(keyId) };
    case 'missing_api_key':
    case 'invalid_api_key':
    case 'insufficient_scope':
      return { label: 'Create a key', href: '/dashboard/keys#new' };
    default:
      return null;
  }
}

/** Returns the remedy of an error for the owner of an account, with a button to the page that helps. @param keyId of the request; null if it is not known */
export function remedyOf(code: ErrorCode, keyId: string | null = null): Html {
  const action = actionOf(code, keyId);
  const text = html`<p>${prose(remedyInWords(code))}</p>`;
  return action === null
    ? text
    : html`${text}<p><a class="button" href="${action.href}">${action.label}</a></p>`;
}
