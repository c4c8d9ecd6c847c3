import argon2 from 'argon2';
import test from 'ava';
import { secretFields } from '../../schemas/tool.ts';
import { type Random, seededRandom } from '../helpers/random.ts';
import { killDuringWork } from '../helpers/thread.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';
import phc from '../vectors/argon2-phc.json' with { type: 'json' };

const tool = await loadTool('argon2-verify');
const matches = async (password: string, hash: string): Promise<unknown> =>
  (await tool.call({ password, hash })).matches;

const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

const TYPES = { argon2d: argon2.argon2d, argon2i: argon2.argon2i, argon2id: argon2.argon2id } as const;

interface Sample {
  password: string;
  prefix: string;
  costs: string[];
  extras: string[];
  rest: string;
}

/** Makes an Argon2 hash with the reference implementation, which node-argon2 compiles, and splits it into its parts. */
async function sample(random: Random, version: number): Promise<Sample> {
  const variant = random.pick(['argon2d', 'argon2i', 'argon2id'] as const);
  const lanes = random.integer(1, 4);
  const [memory, passes] = [random.integer(8 * lanes, 200), random.integer(1, 4)];
  const password = random.text(random.integer(0, 30));
  const salt = random.bytes(random.integer(8, 40));
  const data = random.bytes(random.pick([0, 0, 3, 32]));
  const tag = await argon2.hash(Buffer.from(password), {
    raw: true,
    type: TYPES[variant],
    version,
    memoryCost: memory,
    timeCost: passes,
    parallelism: lanes,
    salt,
    associatedData: data,
    hashLength: random.integer(4, 80),
  });
  return {
    password,
    prefix: `$${variant}`,
    costs: [`m=${memory}`, `t=${passes}`, `p=${lanes}`],
    extras: data.length === 0 ? [] : [`data=${base64(data)}`],
    rest: `$${base64(salt)}$${base64(tag)}`,
  };
}

for (const { password, hash, matches: expected } of phc.vectors)
  test(`agrees with the reference implementation on ${hash} and ${password}`, async (t) => {
    if (expected !== null) return void t.is(await matches(password, hash), expected);
    t.deepEqual(
      (await faultsOf(tool, { password, hash })).map(({ pointer }) => pointer),
      ['/hash'],
    );
  });

for (const version of [16, 19])
  test(`verifies hashes of the reference implementation at version ${version}, and rejects near misses`, async (t) => {
    const random = seededRandom(t.log);
    for (let i = 0; i < 60; i++) {
      const { password, prefix, costs, extras, rest } = await sample(random, version);
      const hash = `${prefix}$v=${version}$${[...costs, ...extras].join(',')}${rest}`;
      t.true(await matches(password, hash), hash);
      t.false(await matches(`${password}!`, hash), hash);
      if (extras.length > 0) t.false(await matches(password, hash.replace(/,data=[^$]*/, '')), hash);
    }
  });

test('reads a hash without a version as version 16', async (t) => {
  const { password, prefix, costs, extras, rest } = await sample(seededRandom(t.log), 16);
  const list = [...costs, ...extras].join(',');
  t.true(await matches(password, `${prefix}$${list}${rest}`));
  t.false(await matches(password, `${prefix}$v=19$${list}${rest}`));
});

test('accepts the parameters in the order in which other libraries write them', async (t) => {
  const { password, prefix, costs, extras, rest } = await sample(seededRandom(t.log), 19);
  for (const order of [
    [0, 2, 1],
    [1, 0, 2],
    [2, 1, 0],
  ]) {
    const list = [...order.map((index) => costs[index]), ...extras].join(',');
    t.true(await matches(password, `${prefix}$v=19$${list}${rest}`), list);
  }
  t.true(await matches('x', await argon2.hash('x', { memoryCost: 64, associatedData: Buffer.from('data') })));
});

test('accepts associated data that resembles a number', async (t) => {
  const options = { memoryCost: 64, associatedData: Buffer.from('1234', 'base64') };
  const hash = await argon2.hash('x', options);
  t.true(hash.includes('data=1234'));
  t.true(await matches('x', hash));
});

test('ignores a key id, and does not verify a hash made with a secret key', async (t) => {
  const { password, prefix, costs, extras, rest } = await sample(seededRandom(t.log), 19);
  const list = [...costs, 'keyid=a2V5MQ', ...extras].join(',');
  t.true(await matches(password, `${prefix}$v=19$${list}${rest}`));
  t.false(await matches('x', await argon2.hash('x', { memoryCost: 64, secret: Buffer.from('pepper') })));
});

test('accepts the empty password', async (t) => {
  t.true(await matches('', await argon2.hash('', { memoryCost: 64 })));
  t.true(await matches('', await argon2.hash('', { memoryCost: 64, version: 16 })));
  t.false(await matches('', await argon2.hash('x', { memoryCost: 64 })));
});

test('does not truncate the password', async (t) => {
  const password = 'é'.repeat(100_000);
  const hash = await argon2.hash(password, { memoryCost: 64 });
  t.true(await matches(password, hash));
  t.false(await matches(password.slice(1), hash));
});

const SALT = 'c29tZXNhbHQ';
const TAG = 'CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
const withCosts = (costs: string): string => `$argon2id$v=19$${costs}$${SALT}$${TAG}`;

for (const [hash, message] of [
  [withCosts('m=262145,t=1,p=1'), /^has m=262145; at most 262144/],
  [withCosts('m=4294967296,t=1,p=1'), /^has m=4294967296; at most 262144/],
  [withCosts('m=8,t=17,p=1'), /^has t=17; at most 16/],
  [withCosts('m=1024,t=1,p=17'), /^has p=17; at most 16/],
  [withCosts('m=262144,t=5,p=1'), /^has m x t = 1310720; at most 1048576/],
  [withCosts('m=31,t=1,p=4'), /^has m=31; Argon2 requires at least 8 for each of the p=4 lanes/],
  [withCosts('m=8,t=0,p=1'), /^has t=0/],
  [withCosts('m=8,t=1,p=0'), /^has p=0/],
  [`$argon2id$v=18$m=8,t=1,p=1$${SALT}$${TAG}`, /^has v=18/],
  [`$argon2id$v=19$m=8,t=1,p=1$c29tZXM$${TAG}`, /^has a salt of 5 bytes/],
  [`$argon2id$v=19$m=8,t=1,p=1$${SALT}$AAAA`, /^has a hash of 3 bytes/],
] as const)
  test(`refuses ${hash} and names the parameter`, async (t) => {
    const [fault, ...more] = await faultsOf(tool, { password: 'x', hash });
    t.is(fault?.pointer, '/hash');
    t.regex(fault?.message ?? '', message);
    // A hash with one parameter above its limit may also exceed the limit of m x t, which is a second fault.
    t.true(more.every((other) => other.message.startsWith('has m x t')));
  });

for (const costs of ['m=262144,t=4,p=1', 'm=65536,t=16,p=16'])
  test(`accepts a hash with ${costs}, the most expensive parameters that are allowed`, async (t) => {
    t.notThrows(() => tool.validate({ password: 'x', hash: withCosts(costs) }));
    t.false(await matches('x', withCosts(costs)));
  });

for (const hash of [
  '',
  'password',
  `${withCosts('m=8,t=1,p=1')}\n`,
  ` ${withCosts('m=8,t=1,p=1')}`,
  `${withCosts('m=8,t=1,p=1')}=`,
  `${withCosts('m=8,t=1,p=1')}$`,
  withCosts('m=8,t=1'),
  withCosts('m=8,t=1,p=1,p=1'),
  withCosts('m=8,t=1,p=1,x=1'),
  withCosts('m=08,t=1,p=1'),
  withCosts('m=8,t=-1,p=1'),
  withCosts('m=8,t=1.5,p=1'),
  withCosts('m=8,t=1e0,p=1'),
  withCosts('m=8, t=1,p=1'),
  withCosts('m=8,t=1,p=1,'),
  withCosts('m=8,t=1,p=1,data=a-b_'),
  withCosts('m=8,t=1,p=1,keyid=a'),
  withCosts('m=8,t=1,p=1').replace('argon2id', 'argon2'),
  withCosts('m=8,t=1,p=1').replace('argon2id', 'Argon2id'),
  withCosts('m=8,t=1,p=1').replace('v=19', 'v='),
  withCosts('m=8,t=1,p=1').replace('v=19', 'v=019'),
  withCosts('m=8,t=1,p=1').replace(TAG, TAG.replace(/.$/, 'd')),
  withCosts('m=8,t=1,p=1').replace(SALT, `${SALT}=`),
  `$argon2id$v=19$m=8,t=1,p=1$${SALT}`,
  '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW',
])
  test(`refuses ${JSON.stringify(hash)} as malformed`, async (t) => {
    const [fault, ...more] = await faultsOf(tool, { password: 'hunter2', hash });
    t.is(fault?.pointer, '/hash');
    t.regex(fault?.message ?? '', /^is not an Argon2 hash/);
    t.deepEqual(more, []);
  });

test('accepts a hash of up to 1 KB', async (t) => {
  const short = withCosts('m=64,t=1,p=1').replace(TAG, '');
  const hash = short.padEnd(1024, 'A');
  t.false(await matches('x', hash));
  t.deepEqual(
    (await faultsOf(tool, { password: 'x', hash: `${hash}A` })).map(({ pointer }) => pointer),
    ['/hash'],
  );
});

test('reports all faults at once and does not repeat the password', async (t) => {
  const faults = await faultsOf(tool, { password: 'hunter2\ud800', hash: 'hunter2' });
  t.deepEqual(
    faults.map(({ pointer }) => pointer),
    ['/password', '/hash'],
  );
  t.false(JSON.stringify(faults).includes('hunter2'));
});

test('marks only the password as a secret', (t) => {
  t.deepEqual(secretFields(tool.definition), ['password']);
});

for (const version of [16, 19])
  test(`ending its thread aborts a verification and leaves the process running, version ${version}`, async (t) => {
    const hash = withCosts('m=262144,t=4,p=1').replace('v=19', `v=${version}`);
    // OpenSSL cannot be interrupted: the thread ends after the hash is computed.
    t.deepEqual(await killDuringWork('argon2-verify', { password: 'x', hash }), ['started']);
  });
