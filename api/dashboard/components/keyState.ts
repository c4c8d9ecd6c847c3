import type { KeyRow } from '../../../schemas/accountRows.ts';
import type { Html } from '../frame/html.ts';
import { badge } from './text.ts';

type KeyState = 'live' | 'revoked' | 'expired';

export function stateOf({ revokedAt, expiresAt }: KeyRow): KeyState {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'live';
}

export const stateBadge = (row: KeyRow): Html =>
  badge(stateOf(row), stateOf(row) === 'live' ? 'good' : 'bad');

export const scopeOf = ({ scopes, tools }: KeyRow): string =>
  scopes[0] === 'account' ? 'account' : tools === null ? 'all tools' : tools.join(', ');
