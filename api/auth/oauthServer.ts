import { isRecord } from '../../schemas/isRecord.ts';
import type { Context } from '../http/context.ts';
import { publicOrigin } from '../http/origin.ts';
import type { ClientDocuments } from './clientDocuments.ts';
import { isDocumentUrl } from './documentUrl.ts';
import {
  CONNECT_PATH,
  OAUTH_SCOPES,
  type OauthScope,
  OFFLINE_ACCESS,
  withConnection,
  withDocument,
} from './oauthPlugin.ts';
import { completeQuery, redirectOf } from './oauthRequests.ts';
import { AUTH_PATH, type SendToAuth } from './sendToAuth.ts';

/** A request for access that an owner decides on: the client and the scopes that it asks for. */
export interface ConnectRequest {
  clientId: string;
  /** Host of the metadata document of the client, which proves that the client belongs to it; null if it has none. */
  clientHost: string | null;
  /** Name that the client has chosen for itself; not verified. */
  clientName: string;
  /** Where the browser is sent afterwards; it is one of the client's registered addresses. */
  redirectUri: string;
  scopes: OauthScope[];
}

/** The response to an authorization request: the page on which the owner decides, or the reason of a refusal. */
type Authorization =
  | { page: string }
  | {
      refused: string;
      /** The client, and its address for the error; null if the client or the address is unknown. */
      client: { id: string; errorUrl: string } | null;
    };

/** The OAuth server for clients of the MCP endpoint; the plugin checks and answers their requests. */
export interface OauthServer {
  /** Address of the MCP endpoint, which is the resource that clients name. */
  endpoint(ctx: Context): string;
  issuer(ctx: Context): string;
  /** The authorisation server metadata (RFC 8414). */
  metadata(ctx: Context): Record<string, unknown>;
  /** Sends a request of a client, without the cookies of the browser. */
  forward(ctx: Context, path: 'oauth2/token' | 'oauth2/revoke', form: URLSearchParams): Promise<Response>;
  register(ctx: Context, metadata: Record<string, unknown>): Promise<Response>;
  /** Checks an authorization request. Fetches the metadata of a client that has a document. @throws ServiceError rate_limited */
  authorize(ctx: Context): Promise<Authorization>;
  /** Reads the query of the page `CONNECT_PATH`; null if `authorize` has not signed it or it has expired. */
  read(ctx: Context): Promise<ConnectRequest | null>;
  /** Completes an authorization request. Returns the address of the client. */
  approve(ctx: Context, scopes: readonly OauthScope[], connectionId: string): Promise<string>;
  deny(ctx: Context): Promise<string>;
}

interface Dependencies {
  send: SendToAuth;
  documents: ClientDocuments;
  /** Counts a document that is fetched for a client address. @throws ServiceError rate_limited */
  countDocument(address: string): Promise<void>;
  /** Makes MongoDB delete a new client unless an owner connects it within some days. */
  markUnused(clientId: string): Promise<void>;
  publicUrl: string | null;
}

export function createOauthServer(deps: Dependencies): OauthServer {
  const { send, documents, countDocument, markUnused, publicUrl } = deps;
  const origin = (ctx: Context) => publicOrigin(ctx, publicUrl);
  const endpoint = (ctx: Context) => `${origin(ctx)}/mcp`;
  const issuer = (ctx: Context) => origin(ctx) + AUTH_PATH;

  /** The plugin knows no issuer if PUBLIC_URL is unset. Parameters are in the query, or in the fragment if the client asks for it. */
  function withIssuer(ctx: Context, url: string): string {
    const address = new URL(url);
    if (address.searchParams.has('iss')) address.searchParams.set('iss', issuer(ctx));
    const fragment = new URLSearchParams(address.hash.slice(1));
    if (fragment.has('iss')) {
      fragment.set('iss', issuer(ctx));
      address.hash = fragment.toString();
    }
    return address.href;
  }

  async function decide(ctx: Context, decision: { accept: boolean; scope?: string }): Promise<string> {
    const json = { ...decision, oauth_query: ctx.querystring };
    const response = await send(ctx, 'oauth2/consent', { method: 'POST', json, isSignedIn: true });
    const url = await redirectOf(response);
    if (url === null) throw new Error(`better-auth responded to consent with ${response.status}`);
    return withIssuer(ctx, url);
  }

  async function readDocument(clientId: string, address: string) {
    await countDocument(address);
    return documents.read(clientId);
  }

  return {
    endpoint,
    issuer,

    metadata: (ctx) => {
      const base = issuer(ctx);
      return {
        issuer: base,
        authorization_endpoint: `${base}/oauth2/authorize`,
        token_endpoint: `${base}/oauth2/token`,
        client_id_metadata_document_supported: true,
        registration_endpoint: `${base}/oauth2/register`,
        revocation_endpoint: `${base}/oauth2/revoke`,
        scopes_supported: [...OAUTH_SCOPES, OFFLINE_ACCESS],
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_methods_supported: ['none'],
        revocation_endpoint_auth_methods_supported: ['none'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        service_documentation: `${origin(ctx)}/docs/agents`,
      };
    },

    forward: (ctx, path, form) => send(ctx, path, { method: 'POST', form }),

    register: (ctx, json) => send(ctx, 'oauth2/register', { method: 'POST', json }),

    async authorize(ctx) {
      const query = new URLSearchParams(ctx.querystring);
      completeQuery(query, endpoint(ctx));
      const ask = () => send(ctx, `oauth2/authorize?${query}`, { isSignedIn: true });
      const clientId = query.get('client_id') ?? '';
      const document = isDocumentUrl(clientId) ? await readDocument(clientId, ctx.ip) : null;
      if (document !== null && 'fault' in document)
        return { refused: `The metadata document of the application ${document.fault}.`, client: null };
      const response = await (document === null ? ask() : withDocument(document.metadata, ask));
      if (document !== null) await markUnused(clientId);
      const url = await redirectOf(response);
      if (url === null) return { refused: 'The request of the application is invalid.', client: null };
      if (url.startsWith(`${CONNECT_PATH}?`)) return { page: url };
      const address = new URL(url);
      const reason =
        address.searchParams.get('error_description') ??
        new URLSearchParams(address.hash.slice(1)).get('error_description');
      const refused = reason ?? 'The request is invalid.';
      if (address.pathname === `${AUTH_PATH}/error`) return { refused, client: null };
      return { refused, client: { id: clientId, errorUrl: withIssuer(ctx, url) } };
    },

    async read(ctx) {
      const query = new URLSearchParams(ctx.querystring);
      const clientId = query.get('client_id') ?? '';
      const json = { client_id: clientId, oauth_query: ctx.querystring };
      const response = await send(ctx, 'oauth2/public-client-prelogin', { method: 'POST', json });
      if (!response.ok) return null;
      const client: unknown = await response.json();
      const name = isRecord(client) ? client.client_name : null;
      return {
        clientId,
        clientHost: isDocumentUrl(clientId) ? new URL(clientId).host : null,
        clientName: typeof name === 'string' && name.trim() !== '' ? name : 'Unnamed application',
        redirectUri: query.get('redirect_uri') ?? '',
        scopes: OAUTH_SCOPES.filter((scope) => query.get('scope')?.split(' ').includes(scope)),
      };
    },

    approve: (ctx, scopes, connectionId) => {
      const requested = new URLSearchParams(ctx.querystring).get('scope')?.split(' ') ?? [];
      const scope = [...scopes, OFFLINE_ACCESS].filter((it) => requested.includes(it)).join(' ');
      return withConnection(connectionId, () => decide(ctx, { accept: true, scope }));
    },

    deny: (ctx) => decide(ctx, { accept: false }),
  };
}
