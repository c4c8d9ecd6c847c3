import { AsyncLocalStorage } from 'node:async_hooks';
import { oauthProvider } from '@better-auth/oauth-provider';
import { registerClientMetadataDocument } from '@better-auth/oauth-provider/internal';
import { ACCESS_TOKEN_PREFIX, hashOauthToken, REFRESH_TOKEN_PREFIX } from '../../store/keys/connections.ts';
import { type DocumentMetadata, isDocumentUrl } from './documentUrl.ts';

/** The page on which the owner connects a client; visitors who are not signed in sign in first. */
export const CONNECT_PATH = '/dashboard/connect';
/** The scopes that an owner can grant; they are those of API keys. */
export const OAUTH_SCOPES = ['tools', 'account'] as const;
export type OauthScope = (typeof OAUTH_SCOPES)[number];
/** The scope that permits a refresh token. */
export const OFFLINE_ACCESS = 'offline_access';
/** Validity of tokens, in seconds. A refresh token is replaced at each use. */
const ACCESS_TOKEN_SECONDS = 3600;
const REFRESH_TOKEN_SECONDS = 30 * 86_400;
/** Id of a connection that does not exist. */
const NOT_APPROVED = 'not approved';

/** Marks the stored clients that have a metadata document. */
const DOCUMENT = 'client-id-metadata-document';

const approved = new AsyncLocalStorage<string>();
const documents = new AsyncLocalStorage<DocumentMetadata>();

/**
 * Sends the request by which the owner approves a client. The authorization code, and all tokens issued for it, belong to
 * this connection.
 */
export const withConnection = <T>(connectionId: string, request: () => Promise<T>): Promise<T> =>
  approved.run(connectionId, request);

/** Sends a request of a client whose metadata document has just been read. The plugin stores the metadata. */
export const withDocument = <T>(metadata: DocumentMetadata, request: () => Promise<T>): Promise<T> =>
  documents.run(metadata, request);

type Options = Parameters<typeof oauthProvider>[0];

/** Lets the plugin take the metadata of clients from their documents. Other requests find the client as it is stored. */
function clientDiscovery(options: () => Options): NonNullable<Options['extensions']>[number] {
  return {
    clientDiscovery: {
      id: DOCUMENT,
      matches: isDocumentUrl,
      async resolve(ctx, clientId, stored) {
        const metadata = documents.getStore();
        if (metadata === undefined) return stored;
        const existing = stored === null ? {} : { existingClient: stored };
        const registration = { metadata, clientId, clientDiscoveryId: DOCUMENT, ...existing };
        return (await registerClientMetadataDocument(ctx, options(), registration)).client;
      },
    },
  };
}

/**
 * Creates better-auth's OAuth server for clients of the MCP endpoint. Tokens are opaque, stored as hashes, and valid for
 * one resource. The server has only public clients, which prove themselves with PKCE, so it stores no client secrets.
 */
export function oauthPlugin() {
  const options: Options = {
    loginPage: CONNECT_PATH,
    consentPage: CONNECT_PATH,
    scopes: [...OAUTH_SCOPES, OFFLINE_ACCESS],
    enforcePerClientResources: false,
    extensions: [clientDiscovery(() => options)],
    grantTypes: ['authorization_code', 'refresh_token'],
    allowDynamicClientRegistration: true,
    allowUnauthenticatedClientRegistration: true,
    allowPublicClientPrelogin: true,
    // Without it, access tokens are opaque and can be revoked.
    disableJwtPlugin: true,
    accessTokenExpiresIn: ACCESS_TOKEN_SECONDS,
    refreshTokenExpiresIn: REFRESH_TOKEN_SECONDS,
    storeTokens: { hash: async (token) => hashOauthToken(token) },
    prefix: { opaqueAccessToken: ACCESS_TOKEN_PREFIX, refreshToken: REFRESH_TOKEN_PREFIX },
    postLogin: {
      page: CONNECT_PATH,
      shouldRedirect: () => false,
      // An earlier consent never has this id, so that the owner is asked each time: a client that registered itself
      // cannot prove who it is (RFC 8252, section 8.6).
      consentReferenceId: () => approved.getStore() ?? NOT_APPROVED,
    },
    schema: {
      oauthClient: { modelName: 'oauthClients' },
      oauthResource: { modelName: 'oauthResources' },
      oauthClientResource: { modelName: 'oauthClientResources' },
      oauthAccessToken: { modelName: 'oauthAccessTokens' },
      oauthRefreshToken: { modelName: 'oauthRefreshTokens' },
      oauthConsent: { modelName: 'oauthConsents' },
    },
  };
  return oauthProvider(options);
}
