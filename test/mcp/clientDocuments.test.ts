import type { IncomingMessage, ServerResponse } from 'node:http';
import test from 'ava';
import { createClientDocuments } from '../../api/auth/clientDocuments.ts';
import { isDocumentUrl } from '../../api/auth/documentUrl.ts';
import { issueCertificate } from '../helpers/certificates.ts';
import { stubNetwork } from '../helpers/egress.ts';

const URL_OF_CLIENT = 'https://client.example/oauth/client.json';
const DOCUMENT = {
  client_id: URL_OF_CLIENT,
  client_name: 'Assistant',
  redirect_uris: ['http://127.0.0.1/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  scope: 'openid',
  client_uri: 'https://client.example/',
};

// draft-ietf-oauth-client-id-metadata-document, "Client Identifier".
test('only an https URL with a path, and without credentials, fragment and dot segments, is the URL of a document', (t) => {
  for (const id of [URL_OF_CLIENT, 'https://client.example:8443/a', 'https://client.example/a?b=c'])
    t.true(isDocumentUrl(id), id);
  for (const id of [
    'https://client.example',
    'https://client.example/',
    'http://client.example/a',
    'https://user@client.example/a',
    'https://client.example/a#b',
    'https://client.example/a#',
    'https://client.example/a/../b',
    'https://client.example/./a',
    'https://CLIENT.example/a',
    ' https://client.example/a',
    'abcdefghijklmnopqrstuvwxyzABCDEF',
    `https://client.example/${'a'.repeat(2000)}`,
  ])
    t.false(isDocumentUrl(id), id);
});

type Answer = (response: ServerResponse, request: IncomingMessage) => void;
const json =
  (value: unknown, type = 'application/json'): Answer =>
  (response) =>
    void response.setHeader('Content-Type', type).end(JSON.stringify(value));

const UNUSABLE: [answer: Answer, fault: RegExp][] = [
  [json({ ...DOCUMENT, client_id: 'https://other.example/' }), /^names another client_id$/],
  [json([DOCUMENT]), /^is not a JSON object$/],
  [json({ ...DOCUMENT, client_secret: 's' }), /^requires authentication/],
  [json({ ...DOCUMENT, token_endpoint_auth_method: 'private_key_jwt' }), /^requires authentication/],
  [json({ ...DOCUMENT, redirect_uris: undefined }), /^has redirect_uris or a client_name/],
  [json({ ...DOCUMENT, client_name: 'a'.repeat(101) }), /^has redirect_uris or a client_name/],
  [json({ ...DOCUMENT, more: 'a'.repeat(20_000) }), /^cannot be fetched \(source_too_large\)$/],
  [json(DOCUMENT, 'text/html'), /^is not of a JSON type$/],
  [(response) => response.setHeader('Content-Type', 'application/json').end('{'), /^is not valid JSON$/],
  [(response) => response.writeHead(302, { Location: '/other' }).end(), /^was answered with status 302$/],
  [(response) => response.writeHead(404).end(), /^was answered with status 404$/],
];

test('the metadata of a document are read, and unusable documents are refused with the reason', async (t) => {
  let answer = json(DOCUMENT, 'application/client-metadata+json; charset=utf-8');
  const certificate = await issueCertificate({
    subject: '/',
    names: ['DNS.1=client.example'],
    issuer: null,
  });
  using network = await stubNetwork({
    certificate,
    handle: (request, response) => answer(response, request),
  });
  const documents = createClientDocuments(network.guard);
  t.deepEqual(await documents.read(URL_OF_CLIENT), {
    metadata: {
      client_id: URL_OF_CLIENT,
      client_name: 'Assistant',
      redirect_uris: ['http://127.0.0.1/callback'],
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
  });
  for (const [unusable, fault] of UNUSABLE) {
    answer = unusable;
    const read = await documents.read(URL_OF_CLIENT);
    t.regex('fault' in read ? read.fault : '', fault);
  }
});

test('a document on a host that is not public is never requested', async (t) => {
  for (const [host, address] of [
    ['127.0.0.1', ''],
    ['[::1]', ''],
    ['169.254.169.254', ''],
    ['localhost', ''],
    ['rebound.example', '10.0.0.1'],
  ] as const) {
    using network = await stubNetwork({ resolve: () => ({ addresses: [address], chain: [] }) });
    t.deepEqual(
      await createClientDocuments(network.guard).read(`https://${host}/client.json`),
      { fault: 'cannot be fetched (target_refused)' },
      host,
    );
    t.deepEqual(network.dialled, [], host);
  }
});
