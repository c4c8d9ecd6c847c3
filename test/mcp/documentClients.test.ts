import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UnauthorizedError } from '@modelcontextprotocol/client';
import test from 'ava';
import { parse } from 'parse5';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { type Certificate, issueCertificate } from '../helpers/certificates.ts';
import { newOwner, type Visitor } from '../helpers/dashboard.ts';
import { elementsOf, mainText } from '../helpers/markup.ts';
import { approve, connectPath, oauthClient, REDIRECT_URL } from '../helpers/oauth.ts';
import { listenAsTarget, type Stack, startStack, TARGET_HOST } from '../helpers/stack.ts';

/** The documents of clients, by path, which a test may change. */
const documents = new Map<string, Record<string, unknown>>();
let stack: Stack;
let store: Store;
let owner: Visitor;
let folder: string;
let site: string;
let requests = 0;

async function startSite({ cert, key }: Certificate) {
  const server = createServer({ cert, key }, ({ url = '' }, response) => {
    requests += 1;
    const document = documents.get(url);
    response.writeHead(document === undefined ? 404 : 200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(document));
  });
  return { server, origin: `https://${await listenAsTarget(server)}` };
}
let closeSite: () => void;

test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'utility-tools-documents-'));
  const certificate = await issueCertificate({ subject: '/', names: [`IP.1=${TARGET_HOST}`], issuer: null });
  const { server, origin } = await startSite(certificate);
  closeSite = () => {
    server.close();
    server.closeAllConnections();
  };
  site = origin;
  const authority = join(folder, 'authority.pem');
  await writeFile(authority, certificate.cert);
  stack = await startStack({
    pools: ['orchestrator', 'cpu'],
    env: { NODE_EXTRA_CA_CERTS: authority, EGRESS_ALLOW: `${TARGET_HOST}/32` },
  });
  store = await openStore(stack.mongodbUri);
  owner = await newOwner(stack);
});
test.after.always(async () => {
  closeSite?.();
  await store?.close();
  await stack?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

function publish(path: string, changes: Record<string, unknown> = {}): string {
  const url = `${site}${path}`;
  documents.set(path, {
    client_id: url,
    client_name: 'Assistant',
    redirect_uris: [REDIRECT_URL],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    ...changes,
  });
  return url;
}

function authorizeUrl(clientId: string, changes: Record<string, string> = {}): URL {
  const url = new URL('/api/auth/oauth2/authorize', stack.baseUrl);
  const query = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT_URL,
    scope: 'tools',
    state: 'xyz',
    code_challenge: 'a'.repeat(43),
    code_challenge_method: 'S256',
    ...changes,
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

const visit = (url: URL) => fetch(url, { redirect: 'manual', headers: { Cookie: owner.cookie } });
const textOf = async (page: Response) => mainText(elementsOf(parse(await page.text())));

test.serial('the official client connects with the URL of its document as its id', async (t) => {
  const documentUrl = publish('/clients/assistant.json');
  const app = oauthClient(stack.baseUrl, 'Assistant', { documentUrl });
  await t.throwsAsync(app.connect(), { instanceOf: UnauthorizedError });
  const { authorizationUrl } = app.provider;
  if (authorizationUrl === null) return t.fail('no authorization request');
  t.is(authorizationUrl.searchParams.get('client_id'), documentUrl, 'it has not registered itself');
  const page = await textOf(await owner.get(await connectPath(authorizationUrl, owner.cookie)));
  t.true(page.includes(`The application belongs to ${new URL(site).host}`), page);
  t.truthy((await store.oauthClients.findOne({ clientId: documentUrl }))?.unusedUntil);

  const callback = await approve(owner, authorizationUrl, { scopes: 'tools' });
  t.is(callback.searchParams.get('iss'), `${stack.baseUrl}/api/auth`);
  const read = requests;
  await app.finish(callback);
  await using connection = await app.connect();
  const call = { name: 'hash-text', arguments: { text: 'abc' } };
  t.like((await connection.client.callTool(call))._meta, { charged: 1 });
  t.is(requests, read, 'only authorization requests fetch the document');
  t.is((await store.oauthClients.findOne({ clientId: documentUrl }))?.unusedUntil, undefined);
});

test.serial('an authorization request takes the current metadata', async (t) => {
  const id = publish('/clients/renamed.json');
  await connectPath(authorizeUrl(id), owner.cookie);
  publish('/clients/renamed.json', { client_name: 'Renamed', redirect_uris: ['http://127.0.0.1:7777/new'] });
  const old = await visit(authorizeUrl(id));
  t.is(old.status, 400, 'the old address is not one of the client any more');
  const path = await connectPath(
    authorizeUrl(id, { redirect_uri: 'http://127.0.0.1:7777/new' }),
    owner.cookie,
  );
  t.true((await textOf(await owner.get(path))).includes('Renamed asks to use your account'));
});

test.serial('a document that cannot be used is refused with the reason', async (t) => {
  const cases: [id: string, reason: RegExp][] = [
    [`${site}/missing.json`, /answered with status 404/],
    [publish('/clients/other.json', { client_id: `${site}/other` }), /names another client_id/],
    [publish('/clients/secret.json', { client_secret: 's' }), /requires authentication/],
    ['https://10.0.0.1/client.json', /cannot be fetched \(target_refused\)/],
    [`${stack.baseUrl.replace('http:', 'https:')}/client.json`, /cannot be fetched \(target_refused\)/],
    [publish('/clients/unsafe.json', { redirect_uris: ['javascript:alert(1)'] }), /invalid/],
  ];
  for (const [id, reason] of cases) {
    const response = await visit(authorizeUrl(id));
    t.is(response.status, 400, id);
    t.is(response.headers.get('location'), null, id);
    t.regex(await textOf(response), reason, id);
    t.is(await store.oauthClients.countDocuments({ clientId: id }), 0, id);
  }
});
