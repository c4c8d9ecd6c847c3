import { isRecord } from '../../schemas/isRecord.ts';
import { MCP_RESOURCE, REFRESH_TOKEN } from '../../store/keys/connections.ts';
import { URI_LENGTH } from './documentUrl.ts';
import { type OauthScope, OFFLINE_ACCESS } from './oauthPlugin.ts';

/** Maximum length of the metadata of a client, in characters. */
const NAME_LENGTH = 100;
const REDIRECT_URIS = 10;
/** Scope of an authorization request that names none (RFC 6749, section 3.3). */
const DEFAULT_SCOPE: OauthScope = 'tools';
/** Form of an authorization code, which the plugin generates. */
const CODE = /^[A-Za-z0-9]{32}$/;

/**
 * Replaces the address of the MCP endpoint by the resource that the plugin knows. Other resources stay, and the plugin
 * refuses them.
 *
 * @param endpoint address of the MCP endpoint
 */
export function nameResource(parameters: URLSearchParams, endpoint: string): void {
  const resources = parameters.getAll('resource');
  parameters.delete('resource');
  for (const resource of resources)
    parameters.append('resource', resource === endpoint ? MCP_RESOURCE : resource);
}

/**
 * Completes the query of an authorization request: tokens are always bound to the MCP endpoint, clients that may refresh
 * tokens need not ask for it, and the owner is always asked.
 */
export function completeQuery(query: URLSearchParams, endpoint: string): void {
  nameResource(query, endpoint);
  if (!query.has('resource')) query.set('resource', MCP_RESOURCE);
  const scopes = query.get('scope')?.split(' ').filter(Boolean) ?? [];
  if (scopes.length === 0) scopes.push(DEFAULT_SCOPE);
  if (!scopes.includes(OFFLINE_ACCESS)) query.set('scope', [...scopes, OFFLINE_ACCESS].join(' '));
  query.delete('max_age');
  if (query.get('prompt') !== 'none') query.delete('prompt');
}

/** Whether the code and the refresh token of a token request, if it has them, have the form of issued ones. */
export function isGrantWellFormed(form: URLSearchParams): boolean {
  const [code, refreshToken] = [form.get('code'), form.get('refresh_token')];
  return (!code || CODE.test(code)) && (!refreshToken || REFRESH_TOKEN.test(refreshToken));
}

const isText = (value: unknown, length: number): value is string =>
  typeof value === 'string' && value.length <= length;

/** Name and redirect addresses of a client. */
export interface Identity {
  client_name?: string;
  redirect_uris: string[];
}

/** Reads the name and the addresses of a client; null if they have the wrong form or are too long. */
export function identityOf({ client_name, redirect_uris }: Record<string, unknown>): Identity | null {
  if (client_name !== undefined && !isText(client_name, NAME_LENGTH)) return null;
  if (!Array.isArray(redirect_uris) || redirect_uris.length > REDIRECT_URIS) return null;
  const addresses: unknown[] = redirect_uris;
  if (!addresses.every((uri) => isText(uri, URI_LENGTH))) return null;
  return { ...(client_name !== undefined && { client_name }), redirect_uris: addresses };
}

/**
 * The metadata with which a client is registered. The server replaces or ignores the other metadata (RFC 7591, section 2):
 * every client is public, has no keys, and may redirect to its own machine.
 *
 * @returns null if the metadata have the wrong form
 */
export function registrationOf(metadata: Record<string, unknown>): Record<string, unknown> | null {
  const { grant_types, response_types, scope, application_type } = metadata;
  const identity = identityOf(metadata);
  if (identity === null) return null;
  const optional = { grant_types, response_types, scope };
  return {
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    ...identity,
    application_type: application_type ?? 'native',
    token_endpoint_auth_method: 'none',
  };
}

/** The target of a redirect that the plugin returned as JSON; null if the response is none. */
export async function redirectOf(response: Response): Promise<string | null> {
  if (!response.ok) return null;
  const body: unknown = await response.json();
  return isRecord(body) && typeof body.url === 'string' ? body.url : null;
}
