import {
  Client,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { parse } from 'parse5';
import type { Fields, Visitor } from './dashboard.ts';
import { attribute, elementsOf } from './markup.ts';

/** Nothing listens at this address: tests read the redirect instead of following it. */
export const REDIRECT_URL = 'http://127.0.0.1:7777/callback';

/** Keeps what the official client asks an application to store, in memory. */
class MemoryProvider implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  /** URL of a Client ID Metadata Document, which the client uses as its id instead of registering itself. */
  clientMetadataUrl?: string;
  client: StoredOAuthClientInformation | undefined;
  stored: StoredOAuthTokens | undefined;
  /** Where the application would open a browser. */
  authorizationUrl: URL | null = null;
  #verifier = '';
  #discovery: OAuthDiscoveryState | undefined;

  constructor(name: string, redirectUrl: string) {
    this.redirectUrl = redirectUrl;
    this.clientMetadata = {
      client_name: name,
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    };
  }

  state = () => 'state of the application';
  clientInformation = () => this.client;
  saveClientInformation = (client: StoredOAuthClientInformation) => {
    this.client = client;
  };
  tokens = () => this.stored;
  saveTokens = (tokens: StoredOAuthTokens) => {
    this.stored = tokens;
  };
  redirectToAuthorization = (url: URL) => {
    this.authorizationUrl = url;
  };
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier;
  };
  codeVerifier = () => this.#verifier;
  saveDiscoveryState = (state: OAuthDiscoveryState) => {
    this.#discovery = state;
  };
  discoveryState = () => this.#discovery;
  invalidateCredentials = () => {
    this.stored = undefined;
  };
}

interface OauthClient {
  provider: MemoryProvider;
  /** Connects as the application. Fails with `UnauthorizedError` if the owner has to approve it first. */
  connect(): Promise<{ client: Client } & AsyncDisposable>;
  /** Hands the address to which the browser was sent over to the application. */
  finish(callback: URL): Promise<void>;
}

export function oauthClient(
  baseUrl: string,
  name: string,
  { redirectUrl = REDIRECT_URL, documentUrl }: { redirectUrl?: string; documentUrl?: string } = {},
): OauthClient {
  const provider = new MemoryProvider(name, redirectUrl);
  if (documentUrl !== undefined) provider.clientMetadataUrl = documentUrl;
  const open = () => new StreamableHTTPClientTransport(new URL('/mcp', baseUrl), { authProvider: provider });
  let last = open();
  return {
    provider,
    finish: (callback) => last.finishAuth(callback.searchParams),
    async connect() {
      last = open();
      const client = new Client({ name, version: '1' });
      await client.connect(last);
      return { client, [Symbol.asyncDispose]: () => client.close() };
    },
  };
}

/** The page of the dashboard to which the browser of the owner is sent, without `/dashboard`. */
export async function connectPath(address: URL | string, cookie: string): Promise<string> {
  const response = await fetch(address, { headers: { Cookie: cookie }, redirect: 'manual' });
  const location = response.headers.get('location') ?? '';
  if (!location.startsWith('/dashboard/')) throw new Error(`${response.status} ${location}`);
  return location.slice('/dashboard'.length);
}

/** The values with which the form of a page is filled in. */
async function filledIn(page: Response): Promise<[string, string][]> {
  const inputs = elementsOf(parse(await page.text())).filter(({ tagName }) => tagName === 'input');
  return inputs.flatMap((input): [string, string][] => {
    const [name = '', type = ''] = [attribute(input, 'name'), attribute(input, 'type')];
    if (name === '' || name === 'formToken') return [];
    if (['checkbox', 'radio'].includes(type) && attribute(input, 'checked') === undefined) return [];
    return [[name, attribute(input, 'value') ?? '']];
  });
}

/** Approves the request as an owner who changes some fields of the form. Returns where the browser is sent. */
export async function approve(owner: Visitor, address: URL | string, changes: Fields = {}): Promise<URL> {
  const path = await connectPath(address, owner.cookie);
  const changed = Array.isArray(changes) ? changes : Object.entries(changes);
  const kept = (await filledIn(await owner.get(path))).filter(
    ([name]) => !changed.some(([other]) => other === name),
  );
  const response = await owner.post(path, [...kept, ...changed, ['decision', 'connect']]);
  const location = response.headers.get('location');
  if (location === null) throw new Error(`${response.status} ${await response.text()}`);
  return new URL(location);
}

/** Registers a client and lets the owner connect it. */
export async function connected(
  baseUrl: string,
  owner: Visitor,
  name: string,
  changes?: Fields,
): Promise<OauthClient> {
  const app = oauthClient(baseUrl, name);
  await app.connect().catch(() => undefined);
  const { authorizationUrl } = app.provider;
  if (authorizationUrl === null) throw new Error('the client did not ask for authorization');
  await app.finish(await approve(owner, authorizationUrl, changes));
  return app;
}
