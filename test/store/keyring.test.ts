import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { createKeyring, loadKeyring, type Purpose } from '../../platform/secrets/keyring.ts';

const key = (id: string) => ({ id, bytes: randomBytes(32) });
const PLAIN = Buffer.from('a result that nobody else should read');

test('a sealed value opens with the same purpose and context, and its bytes reveal nothing of its content', (t) => {
  const keyring = createKeyring([key('a')]);
  for (const plain of [PLAIN, Buffer.alloc(0), randomBytes(100_000)]) {
    const sealed = keyring.seal('result', 'call-1', plain);
    t.deepEqual(keyring.open('result', 'call-1', sealed), plain);
    if (plain.length > 0) t.false(sealed.includes(plain));
  }
  const twice = [1, 2].map(() => keyring.seal('result', 'call-1', PLAIN));
  t.notDeepEqual(twice[0], twice[1], 'a new IV each time');
});

test('a sealed value does not open with another purpose, context or key', (t) => {
  const keyring = createKeyring([key('a')]);
  const sealed = keyring.seal('result', 'call-1', PLAIN);
  const others: Purpose[] = ['temporal-payload', 'vault', 'fingerprint', 'webhook-secret', 'session'];
  for (const purpose of others) t.throws(() => keyring.open(purpose, 'call-1', sealed), undefined, purpose);
  for (const context of ['call-2', '', 'call-1 ', 'call-11'])
    t.throws(() => keyring.open('result', context, sealed), undefined, context);
  t.throws(
    () => createKeyring([key('a')]).open('result', 'call-1', sealed),
    undefined,
    'same id, other bytes',
  );
  t.throws(() => createKeyring([key('b')]).open('result', 'call-1', sealed), { message: /not in the ring/ });
});

test('every flipped bit and every truncation is detected', (t) => {
  const keyring = createKeyring([key('some-id')]);
  const sealed = keyring.seal('vault', 'reply', PLAIN);
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = Buffer.from(sealed);
    const at = bit >> 3;
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << (bit & 7)), at);
    t.throws(() => keyring.open('vault', 'reply', changed), undefined, `bit ${bit}`);
  }
  for (let length = 0; length < sealed.length; length++)
    t.throws(() => keyring.open('vault', 'reply', sealed.subarray(0, length)), undefined, `${length} bytes`);
  t.throws(() => keyring.open('vault', 'reply', Buffer.concat([sealed, Buffer.of(0)])), undefined, 'longer');
});

test('rotation: the first key encrypts, every key of the ring decrypts, a removed key does not', (t) => {
  const [a, b, c] = [key('2024'), key('2025'), key('2026')];
  const old = createKeyring([a]).seal('result', 'x', PLAIN);
  const ring = createKeyring([c, b, a]);
  t.deepEqual(ring.open('result', 'x', old), PLAIN);
  const fresh = ring.seal('result', 'x', PLAIN);
  t.is(ring.currentId, '2026');
  t.is(ring.keyIdOf(fresh), '2026');
  t.is(ring.keyIdOf(old), '2024');
  t.deepEqual(createKeyring([c]).open('result', 'x', fresh), PLAIN);
  t.throws(() => createKeyring([c, b]).open('result', 'x', old), { message: /"2024" is not in the ring/ });
});

test('a fingerprint is stable under its key, and differs under every other key', (t) => {
  const [a, b] = [key('a'), key('b')];
  const before = createKeyring([a]).mac('fingerprint', 'body');
  const ring = createKeyring([b, a]);
  t.is(ring.mac('fingerprint', 'body', 'a'), before);
  t.not(ring.mac('fingerprint', 'body'), before);
  t.not(ring.mac('fingerprint', 'other', 'a'), before);
  t.not(ring.mac('session', 'body', 'a'), before);
});

/**
 * An independent check of the documented format: derives the key with HKDF (RFC 5869) on OpenSSL's command line, and
 * decrypts AES-GCM with the layout from the docstring.
 */
test('a sealed value opens with the derived key that openssl computes', async (t) => {
  const master = key('k');
  const sealed = createKeyring([master]).seal('result', '', PLAIN);
  const run = promisify(execFile);
  const { stdout } = await run(
    'openssl',
    [
      ...[
        'kdf',
        '-keylen',
        '32',
        '-kdfopt',
        'digest:SHA2-256',
        '-kdfopt',
        `hexkey:${master.bytes.toString('hex')}`,
      ],
      ...['-kdfopt', 'info:utility-tools/result', '-binary', 'HKDF'],
    ],
    { encoding: 'buffer' },
  );
  t.deepEqual(createKeyring([master]).derive('result'), stdout);
  t.is(sealed.subarray(0, 2).toString('latin1'), '\x01k');
  t.is(sealed.length, 2 + 12 + 16 + PLAIN.length);
});

const RACER = `
import { loadKeyring } from ${JSON.stringify(new URL('../../platform/secrets/keyring.ts', import.meta.url).href)};
const keyring = loadKeyring({ MASTER_KEYS: null, DATA_DIR: process.argv[1] });
console.log(keyring.derive('session').toString('hex'));
`;

test('twenty processes that start concurrently create one key file, which only its user can read', async (t) => {
  t.timeout(120_000);
  const folder = await mkdtemp(join(tmpdir(), 'keyring-'));
  try {
    const run = promisify(execFile);
    const args = ['--input-type=module', '--eval', RACER, folder];
    const outputs = await Promise.all(
      Array.from({ length: 20 }, async () => (await run(process.execPath, args)).stdout),
    );
    t.is(new Set(outputs).size, 1);
    t.deepEqual(await readdir(folder), ['master.keys'], 'no temporary files are left');
    t.is((await stat(join(folder, 'master.keys'))).mode & 0o777, 0o600);
    t.regex(await readFile(join(folder, 'master.keys'), 'utf8'), /^local:[A-Za-z0-9+/]{43}=\n$/);
    const again = loadKeyring({ MASTER_KEYS: null, DATA_DIR: folder });
    t.is(`${again.derive('session').toString('hex')}\n`, outputs[0] ?? '', 'the key is stable');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
