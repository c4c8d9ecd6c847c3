/** Maximum length of a URL of a client in characters. */
export const URI_LENGTH = 2000;

/**
 * Whether the id of a client is the URL of a document: https, with a path, and without credentials,
 * fragment and dot segments. The parser removes dot segments, so that a URL with one differs from its parsed form.
 */
export function isDocumentUrl(clientId: string): boolean {
  const url = clientId.length <= URI_LENGTH && URL.canParse(clientId) ? new URL(clientId) : null;
  if (url?.protocol !== 'https:' || url.href !== clientId) return false;
  return url.pathname !== '/' && url.username === '' && url.password === '' && !clientId.includes('#');
}

/** The metadata of a client, from its document, as the OAuth server stores them. */
export interface DocumentMetadata {
  client_id: string;
  client_name?: string;
  redirect_uris: string[];
  application_type: 'native';
  grant_types: ('authorization_code' | 'refresh_token')[];
  response_types: 'code'[];
  token_endpoint_auth_method: 'none';
}
