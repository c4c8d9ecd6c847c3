import { hash as referenceHash, verify as referenceVerify } from '@node-rs/bcrypt';
import test from 'ava';
import { bcryptHash } from '../../activities/passwords/bcrypt.ts';
import { secretFields } from '../../schemas/tool.ts';
import { seededRandom } from '../helpers/random.ts';
import { killDuringWork } from '../helpers/thread.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';

const tool = await loadTool('bcrypt-hash');

test('returns a $2b$ hash that another implementation verifies, with a new salt each time', async (t) => {
  const body = { password: 'pässwörd 🔑', workFactor: 4 };
  const hashes = await Promise.all([tool.call(body), tool.call(body)]);
  const [first, second] = hashes.map(({ hash }) => String(hash));
  t.regex(String(first), /^\$2b\$04\$[./A-Za-z0-9]{53}$/);
  t.not(first, second);
  t.true(await referenceVerify(body.password, String(first)));
  t.false(await referenceVerify(`${body.password}!`, String(first)));
});

test('defaults to work factor 11', async (t) => {
  const { hash } = await tool.call({ password: 'secret' });
  t.true(String(hash).startsWith('$2b$11$'));
  t.true(await referenceVerify('secret', String(hash)));
});

for (const workFactor of [4, 5, 9, 10, 12])
  test(`writes the work factor ${workFactor} into the hash and applies it`, async (t) => {
    const { hash } = await tool.call({ password: 'secret', workFactor });
    t.is(String(hash).slice(4, 6), String(workFactor).padStart(2, '0'));
    t.true(await referenceVerify('secret', String(hash)));
  });

test('returns the same hash as @node-rs/bcrypt for the same salt', async (t) => {
  const random = seededRandom(t.log);
  for (let i = 0; i < 100; i++) {
    const password = Buffer.from(random.text(random.integer(1, 40))).subarray(0, 72);
    const salt = random.bytes(16);
    t.is(
      await bcryptHash(password, salt, 4),
      await referenceHash(password, { salt, cost: 4, version: '2b' }),
    );
  }
});

for (const [name, password] of Object.entries({
  '72 ASCII characters': 'x'.repeat(72),
  '18 characters of four bytes': '😀'.repeat(18),
  'one character': 'a',
}))
  test(`accepts ${name}`, async (t) => {
    const { hash } = await tool.call({ password, workFactor: 4 });
    t.true(await referenceVerify(password, String(hash)));
  });

for (const [name, password] of Object.entries({
  'the empty password': '',
  '73 ASCII characters': 'hunter2-'.repeat(9).concat('x'),
  '37 characters of two bytes': 'é'.repeat(37),
  'a NUL character': 'hunter2-\0',
  'a lone surrogate': 'hunter2-\ud800',
}))
  test(`refuses ${name}, without repeating the password`, async (t) => {
    const faults = await faultsOf(tool, { password, workFactor: 4 });
    t.deepEqual(
      faults.map(({ pointer }) => pointer),
      ['/password'],
    );
    t.false(JSON.stringify(faults).includes('hunter2'));
  });

for (const workFactor of [3, 15, 10.5, '11', null])
  test(`refuses the work factor ${JSON.stringify(workFactor)}`, async (t) => {
    const faults = await faultsOf(tool, { password: 'secret', workFactor });
    t.deepEqual(
      faults.map(({ pointer }) => pointer),
      ['/workFactor'],
    );
  });

test('reports all faults at once, and names unknown fields', async (t) => {
  const faults = await faultsOf(tool, { workFactor: 99, rounds: 4 });
  t.deepEqual(faults.map(({ pointer }) => pointer).sort(), ['/password', '/rounds', '/workFactor']);
});

test('marks the password as a secret', (t) => {
  t.deepEqual(secretFields(tool.definition), ['password']);
});

test('ending its thread aborts a hash', async (t) => {
  t.deepEqual(await killDuringWork('bcrypt-hash', { password: 'secret', workFactor: 14 }), ['started']);
});
