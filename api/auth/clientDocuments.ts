import type { Guard } from '../../egress/guard.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { DocumentMetadata } from './documentUrl.ts';
import { type Identity, identityOf } from './oauthRequests.ts';

/**
 * Client ID Metadata Documents (draft-ietf-oauth-client-id-metadata-document): a client has the URL of a document with its
 * metadata as its id, and needs no registration. Its id shows which site it belongs to.
 */

/** Maximum size in bytes. The draft recommends to accept at most 5 KB. */
const DOCUMENT_BYTES = 16_384;
/** Time limit in milliseconds, from the DNS lookup to the last byte. */
const FETCH_MS = 5000;
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/** The metadata of a client, or why its document cannot be used; completes "The metadata document of the application …". */
type ReadDocument = { metadata: DocumentMetadata } | { fault: string };

/** Every client is public, may redirect to its own machine and may use both flows, like one that registers itself. */
const clientOf = (clientId: string, identity: Identity): DocumentMetadata => ({
  client_id: clientId,
  ...identity,
  application_type: 'native',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
});

/** Reads the metadata of a client. Only public clients are supported, so those that authenticate are refused. */
function metadataOf(clientId: string, document: unknown): ReadDocument {
  if (!isRecord(document)) return { fault: 'is not a JSON object' };
  const { client_id, client_secret, token_endpoint_auth_method: method = 'none' } = document;
  if (client_id !== clientId) return { fault: 'names another client_id' };
  if (client_secret !== undefined || method !== 'none')
    return { fault: 'requires authentication of the client, which is not supported' };
  const identity = identityOf(document);
  if (identity === null) return { fault: 'has redirect_uris or a client_name that are invalid or too long' };
  return { metadata: clientOf(clientId, identity) };
}

export interface ClientDocuments {
  /** Fetches the document of a client. Redirects are not followed, as the draft demands. */
  read(clientId: string): Promise<ReadDocument>;
}

/** @param egress guard that refuses documents on hosts that are not public */
export const createClientDocuments = (egress: Pick<Guard, 'parseTarget' | 'request'>): ClientDocuments => ({
  async read(clientId) {
    try {
      using response = await egress.request(egress.parseTarget(clientId, { kind: 'url', pointer: '' }), {
        headers: [['Accept', 'application/json']],
        maxBytes: DOCUMENT_BYTES,
        signal: AbortSignal.timeout(FETCH_MS),
        deadline: Date.now() + FETCH_MS,
      });
      if (response.status !== 200) return { fault: `was answered with status ${response.status}` };
      if (!JSON_TYPE.test(response.header('content-type') ?? '')) return { fault: 'is not of a JSON type' };
      return metadataOf(clientId, JSON.parse((await response.bytes()).toString('utf8')));
    } catch (error) {
      if (error instanceof SyntaxError) return { fault: 'is not valid JSON' };
      if (error instanceof ServiceError) return { fault: `cannot be fetched (${error.code})` };
      throw error;
    }
  },
});
