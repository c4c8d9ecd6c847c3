import type { IndexDescription } from 'mongodb';
/** An OAuth client that has registered itself. The OAuth plugin of better-auth writes it, with more fields. */
export interface OauthClientDoc {
  clientId: string;
  /** Name that the client has chosen for itself. */
  name?: string | null;
  redirectUris: string[];
  /** When MongoDB deletes the client if no owner has connected it by then. The field is removed when one connects it. */
  unusedUntil?: Date;
}

/** An access or refresh token; the plugin writes it. */
export interface OauthTokenDoc {
  /** `hashOauthToken` of the token without its prefix. */
  token: string;
  clientId: string;
  /** Id of the connection. */
  referenceId?: string | null;
  /** Resources for which the token is valid (RFC 8707). */
  resources?: string[] | null;
  /** Key or certificate that requests with the token must prove to have; not supported. */
  confirmation?: unknown;
  expiresAt: Date;
  revoked?: Date | null;
}

/** The plugin's record of a consent; the limits are in the connection. */
export interface OauthConsentDoc {
  referenceId?: string | null;
}

export const OAUTH_CLIENT_INDEXES: IndexDescription[] = [{ key: { unusedUntil: 1 }, expireAfterSeconds: 0 }];

/** For access tokens and for refresh tokens. */
export const OAUTH_TOKEN_INDEXES: IndexDescription[] = [
  { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  { key: { referenceId: 1 } },
];

export const OAUTH_CONSENT_INDEXES: IndexDescription[] = [{ key: { referenceId: 1 } }];
