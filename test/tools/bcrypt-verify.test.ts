import { isUtf8 } from 'node:buffer';
import { hash as referenceHash } from '@node-rs/bcrypt';
import test from 'ava';
import { bcryptMatches } from '../../activities/passwords/bcrypt.ts';
import { secretFields } from '../../schemas/tool.ts';
import { seededRandom } from '../helpers/random.ts';
import { killDuringWork } from '../helpers/thread.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';
import libxcrypt from '../vectors/bcrypt-libxcrypt.json' with { type: 'json' };
import openwall from '../vectors/bcrypt-openwall.json' with { type: 'json' };

const tool = await loadTool('bcrypt-verify');
const matches = async (password: string, hash: string): Promise<unknown> =>
  (await tool.call({ password, hash })).matches;

const U_U = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW';

for (const { password, hash } of openwall.vectors)
  test(`agrees with crypt_blowfish on the bytes ${password} and ${hash}`, async (t) => {
    const bytes = Buffer.from(password, 'hex');
    t.true(await bcryptMatches(bytes, hash));
    if (isUtf8(bytes)) t.true(await matches(bytes.toString(), hash));
  });

test('distinguishes the sign-extension bug of $2x$, and its mitigation in $2a$, from the correct algorithm', async (t) => {
  const accepted = new Set(openwall.vectors.map(({ password, hash }) => `${password} ${hash}`));
  // The bug makes some different passwords match, such as 0xA3 and 0xFF 0xA3 …, so the expected results are those of
  // the test vectors.
  for (const { password } of openwall.vectors)
    for (const { hash } of openwall.vectors.filter((other) => other.hash.includes('OK.fbVrR')))
      if (!accepted.has(`${password} ${hash}`) && !hash.startsWith('$2x$'))
        t.false(await bcryptMatches(Buffer.from(password, 'hex'), hash), `${password} ${hash}`);
});

for (const { password, hash } of libxcrypt.vectors)
  test(`agrees with libxcrypt on ${hash}`, async (t) => {
    t.true(await matches(password, hash));
    t.false(await matches(`!${password}`, hash));
  });

test('verifies hashes of @node-rs/bcrypt, and rejects near misses', async (t) => {
  const random = seededRandom(t.log);
  for (let i = 0; i < 60; i++) {
    const password = random.text(random.integer(0, 40));
    const version = random.pick(['2a', '2b', '2y'] as const);
    const hash = await referenceHash(password, { cost: random.integer(4, 5), version });
    t.true(await matches(password, hash));
    t.false(await matches(`${random.text(1)}${password}`, hash));
  }
});

test('uses the first 72 bytes of the password and ignores the rest', async (t) => {
  const hash = await referenceHash('é'.repeat(36), { cost: 4 });
  t.true(await matches('é'.repeat(36), hash));
  t.true(await matches(`${'é'.repeat(36)}whatever`, hash));
  t.false(await matches('é'.repeat(35), hash));
  t.true(await matches('x'.repeat(900_000), await referenceHash('x'.repeat(72), { cost: 4 })));
});

test('a character that the 72-byte limit splits counts with its first bytes', async (t) => {
  const password = `${'x'.repeat(71)}é`;
  t.true(await matches(password, await referenceHash(Buffer.from(password).subarray(0, 72), { cost: 4 })));
});

test('treats NUL as an ordinary byte that does not end the password', async (t) => {
  t.false(await matches('a\0b', await referenceHash('a', { cost: 4 })));
  t.true(await matches('a\0b', await referenceHash('a\0b', { cost: 4 })));
});

test('accepts the empty password', async (t) => {
  t.true(await matches('', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy'));
  t.false(await matches('', U_U));
});

test('hashes whose unused salt or digest bits are set are treated as by crypt: no password matches them', async (t) => {
  t.false(await matches('U*U', U_U.replace('.E5', '/E5')));
  t.false(await matches('U*U', U_U.replace(/W$/, 'X')));
});

for (const hash of [
  '',
  'U*U',
  `${U_U}\n`,
  ` ${U_U}`,
  U_U.slice(0, -1),
  `${U_U}W`,
  U_U.replace('$2a', '$2'),
  U_U.replace('$2a', '$2c'),
  U_U.replace('$2a', '$2A'),
  U_U.replace('$05', '$5'),
  U_U.replace('$05', '$03'),
  U_U.replace('$05', '$32'),
  U_U.replace('$05', '$+5'),
  U_U.replace('CC', '+C'),
  U_U.replace('CC', 'ÇC'),
  U_U.replace('E5', '=5'),
  '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
])
  test(`refuses ${JSON.stringify(hash)} as malformed`, async (t) => {
    const [fault, ...more] = await faultsOf(tool, { password: 'hunter2', hash });
    t.is(fault?.pointer, '/hash');
    t.regex(fault?.message ?? '', /^is not a bcrypt hash/);
    t.deepEqual(more, []);
  });

test('accepts hashes up to work factor 16, and names the limit when it refuses one', async (t) => {
  t.notThrows(() => tool.validate({ password: 'x', hash: U_U.replace('$05', '$16') }));
  for (const workFactor of ['17', '31']) {
    const [fault] = await faultsOf(tool, { password: 'x', hash: U_U.replace('$05', `$${workFactor}`) });
    t.deepEqual(fault, {
      pointer: '/hash',
      message: `has the work factor ${workFactor}; at most 16 is supported`,
    });
  }
});

test('reports all faults at once and does not repeat the password', async (t) => {
  const faults = await faultsOf(tool, { password: 'hunter2\udfff', hash: 'hunter2' });
  t.deepEqual(
    faults.map(({ pointer }) => pointer),
    ['/password', '/hash'],
  );
  t.false(JSON.stringify(faults).includes('hunter2'));
});

test('marks only the password as a secret', (t) => {
  t.deepEqual(secretFields(tool.definition), ['password']);
});

test('ending its thread aborts a verification', async (t) => {
  const hash = U_U.replace('$05', '$16');
  t.deepEqual(await killDuringWork('bcrypt-verify', { password: 'U*U', hash }), ['started']);
});
