import { createServer } from 'node:http';
import test from 'ava';
import { PNG } from 'pngjs';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, auditAccountWhenIdle } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget } from '../helpers/stack.ts';

const SIZE = 97;
const BODY = { text: 'https://example.com/?q=grüße', size: SIZE };
const CREDITS = 100;

/** A web server that responds to every path with the same image. */
const pictures = createServer((_, response) =>
  response.end(PNG.sync.write(new PNG({ width: 64, height: 64 }))),
);

const place = await listenAsTarget(pictures);
const stack = await useStack();
const store = await openStore(stack.mongodbUri);
const account = await makeAccount(stack, CREDITS);
test.after.always(async () => {
  await store.close();
  await stack.stop();
  pictures.close();
});

async function draw(accept: string | null, headers: Record<string, string> = {}) {
  // Without an explicit value, fetch sends Accept: */*.
  const response = await account.call('qr-generate', BODY, {
    ...(accept === null ? {} : { Accept: accept }),
    ...headers,
  });
  return {
    status: response.status,
    type: response.headers.get('Content-Type'),
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

const RAW = [
  'image/png',
  'IMAGE/PNG',
  'image/*',
  'image/png, application/json;q=0.9',
  'application/json;q=0.5, image/*',
  'application/json;q=0.5, image/png;q=0.6, */*;q=0.1',
  'image/png;q=0.5, application/json;q=0',
  'image/png, */*;q=0.1',
  'text/html, image/png;q=0.2',
];

const JSON_IS_MEANT = [
  null,
  '',
  '*/*',
  'application/json',
  'application/json, image/png',
  'image/png, application/json',
  'image/png;q=0.5, application/json',
  'image/png;q=0.5, */*',
  'image/png;q=0, */*;q=0.1',
  'image/*;q=0.3, application/*;q=0.3',
  'text/html',
  'image/jpeg',
  'application/pdf',
  'image/png;q=0',
  'image/png;q=2',
  'image/png;q=high',
  ';;;,,,q=1',
  'image',
  '/',
];

test.serial('if Accept ranks an image type first, the response is the image', async (t) => {
  const { bytes } = await draw('application/json');
  const output = JSON.parse(bytes.toString());
  const image = Buffer.from(output.imageBase64, 'base64');
  for (const accept of RAW) {
    const raw = await draw(accept);
    t.is(raw.status, 200, accept);
    t.is(raw.type, 'image/png', accept);
    t.true(raw.bytes.equals(image), accept);
    t.is(raw.headers.get('Content-Length'), String(image.length));
    t.is(raw.headers.get('Content-Disposition'), 'inline; filename="qr-generate.png"');
    t.is(raw.headers.get('X-Result-Size'), String(SIZE));
    t.is(raw.headers.get('X-Result-Mime-Type'), encodeURIComponent('image/png'));
    t.is(raw.headers.get('X-Result-Image-Base64'), null);
    t.is(raw.headers.get('X-Credits-Charged'), '1');
    t.regex(raw.headers.get('Vary') ?? '', /\bAccept\b/);
  }
  t.is(PNG.sync.read(image).width, SIZE);
});

test.serial('for every other Accept header the response is JSON, never 406', async (t) => {
  for (const accept of JSON_IS_MEANT) {
    const { status, type, bytes, headers } = await draw(accept);
    t.is(status, 200, accept ?? 'none');
    t.regex(type ?? '', /^application\/json\b/, accept ?? 'none');
    t.is(headers.get('X-Result-Size'), null);
    t.deepEqual(Object.keys(JSON.parse(bytes.toString())).sort(), [
      'fileExpiresAt',
      'fileUrl',
      'imageBase64',
      'mimeType',
      'size',
    ]);
  }
});

test.serial('one stored result is replayed both as JSON and as an image', async (t) => {
  const key = { 'Idempotency-Key': 'either' };
  const raw = await draw('image/png', key);
  const json = await draw('application/json', key);
  t.is(json.headers.get('Idempotent-Replayed'), 'true');
  t.true(raw.bytes.equals(Buffer.from(JSON.parse(json.bytes.toString()).imageBase64, 'base64')));
  const again = await draw('image/png', key);
  t.is(again.headers.get('X-Credits-Charged'), '0');
  t.true(again.bytes.equals(raw.bytes));
});

/**
 * File names and their Content-Disposition header (RFC 6266, 5 and appendix D; RFC 8187, 3.2): characters other than
 * attr-char are encoded as percent-encoded UTF-8.
 */
const NAMES = [
  ['plain (1)', 'filename="plain (1).png"'],
  ['Müller Vertrag', `filename="M_ller Vertrag.png"; filename*=UTF-8''M%C3%BCller%20Vertrag.png`],
  ['año', `filename="a_o.png"; filename*=UTF-8''a%C3%B1o.png`],
  ["l'été 100%41", `filename="l'_t_ 100%41.png"; filename*=UTF-8''l%27%C3%A9t%C3%A9%20100%2541.png`],
  ['日本', `filename="__.png"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.png`],
  ['🚀', `filename="_.png"; filename*=UTF-8''%F0%9F%9A%80.png`],
  ['5% “off”', `filename="5% _off_.png"; filename*=UTF-8''5%25%20%E2%80%9Coff%E2%80%9D.png`],
] as const;

test.serial('a file name in any script is returned unchanged', async (t) => {
  const owner = await makeAccount(stack, CREDITS);
  for (const [name, expected] of NAMES) {
    const fileUrl = `http://${place}/${encodeURIComponent(name)}.png`;
    // fetch decodes each byte of a header to one character.
    const raw = await owner.call('watermark-image', { fileUrl, text: 'x' }, { Accept: 'image/png' });
    t.is(raw.status, 200, name);
    t.is(raw.headers.get('Content-Disposition'), `inline; ${expected}`);
    t.is(raw.headers.get('X-Result-File-Name'), encodeURIComponent(`${name}.png`));
  }
});

test.serial('errors are returned as problem details, whatever the Accept header is', async (t) => {
  const response = await account.call('qr-generate', { text: '' }, { Accept: 'image/png' });
  t.is(response.status, 422);
  t.regex(response.headers.get('Content-Type') ?? '', /^application\/problem\+json\b/);
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
  const calls = 1 + RAW.length + JSON_IS_MEANT.length + 1;
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - calls);
});
