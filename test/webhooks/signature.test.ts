import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { generateSigningSecret, signatureHeaders } from '../../schemas/webhookSignature.ts';

interface Vector {
  secret: string;
  id: string;
  event: string;
  timestamp: number;
  body: string;
  headers: Record<string, string>;
}

const vectors: Vector[] = JSON.parse(
  readFileSync(new URL('../vectors/webhook-signatures.json', import.meta.url), 'utf8'),
);

/** Signs with openssl. The key is passed in hexadecimal, so that no byte of it has a meaning on the command line. */
function openssl(key: Buffer, text: string): Buffer {
  const options = ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${key.toString('hex')}`, '-binary'];
  return execFileSync('openssl', options, { input: text, timeout: 10_000 });
}

test('signatures match known test vectors and openssl', (t) => {
  t.true(vectors.length >= 3);
  for (const { secret, headers, ...message } of vectors) {
    t.deepEqual(Object.fromEntries(signatureHeaders(message, { own: secret, all: [secret] })), headers);
    const { id, timestamp, body } = message;
    t.is(
      headers['X-Service-Signature'],
      `sha256=${openssl(Buffer.from(secret), `${timestamp}.${body}`).toString('hex')}`,
    );
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    t.is(headers['webhook-signature'], `v1,${openssl(key, `${id}.${timestamp}.${body}`).toString('base64')}`);
  }
});

test('signatures match the reference library of Standard Webhooks', (t) => {
  for (const { secret, id, timestamp, body, headers } of vectors)
    t.is(new Webhook(secret).sign(id, new Date(timestamp * 1000), body), headers['webhook-signature'] ?? '');
});

test("during a rotation the old secret signs the service's own header, and both secrets sign the Standard Webhooks header", (t) => {
  const old = generateSigningSecret();
  const fresh = generateSigningSecret();
  const message = { id: 'evt_1', event: 'credits.low', timestamp: 1_795_278_465, body: '{}' };
  const headers = new Map(signatureHeaders(message, { own: old, all: [old, fresh] }));
  const alone = (secret: string) => new Map(signatureHeaders(message, { own: secret, all: [secret] }));
  t.is(headers.get('X-Service-Signature'), alone(old).get('X-Service-Signature'));
  t.is(
    headers.get('webhook-signature'),
    `${alone(old).get('webhook-signature')} ${alone(fresh).get('webhook-signature')}`,
  );
});

test('a secret consists of whsec_ and 32 random bytes in base64', (t) => {
  const secrets = Array.from({ length: 20 }, generateSigningSecret);
  t.is(new Set(secrets).size, 20);
  for (const secret of secrets) {
    t.regex(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    t.is(Buffer.from(secret.slice(6), 'base64').length, 32);
  }
});
