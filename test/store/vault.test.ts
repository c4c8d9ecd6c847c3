import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { askVault, createVault } from '../../platform/secrets/vault.ts';

const SECRETS = { password: 'hunter2, and a bit more' };
const newKeyring = () => createKeyring([{ id: 'a', bytes: randomBytes(32) }]);

test('the token of a call decrypts its secrets any number of times until the call ends', (t) => {
  const keyring = newKeyring();
  const vault = createVault(keyring);
  const token = vault.put('call-1', SECRETS);
  t.is(vault.size, 1);
  for (const _attempt of [1, 2]) {
    const { request, open } = askVault(keyring, 'call-1', token);
    const reply = vault.answer(request);
    if (reply === null) return t.fail('no answer');
    t.deepEqual(open(reply), SECRETS);
    for (const bytes of [request, reply]) t.false(bytes.includes('hunter2'), 'encrypted on the wire');
    t.false(request.includes(token));
  }
  vault.drop('call-1');
  t.is(vault.size, 0);
  t.is(vault.answer(askVault(keyring, 'call-1', token).request), null, 'deleted with the call');
});

test('a token is valid for its own call only', (t) => {
  const keyring = newKeyring();
  const vault = createVault(keyring);
  const tokens = [vault.put('call-1', SECRETS), vault.put('call-2', { password: 'other' })] as const;
  t.not(tokens[0], tokens[1]);
  const wrong: [string, string][] = [
    ['call-1', tokens[1]],
    ['call-2', tokens[0]],
    ['call-3', tokens[0]],
    ['call-1', ''],
    ['call-1', tokens[0].slice(0, -2)],
    ['call-1', 'undefined'],
    ['__proto__', tokens[0]],
  ];
  for (const [callId, token] of wrong)
    t.is(vault.answer(askVault(keyring, callId, token).request), null, callId);
});

test('requests without the master key are refused', (t) => {
  const keyring = newKeyring();
  const vault = createVault(keyring);
  const token = vault.put('call-1', SECRETS);
  const stranger = newKeyring();
  const genuine = askVault(keyring, 'call-1', token).request;
  const changed = Buffer.from(genuine);
  changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1);
  const sealed = (plain: string) => keyring.seal('vault', 'request', Buffer.from(plain));
  const requests = [
    askVault(stranger, 'call-1', token).request,
    Buffer.from(JSON.stringify({ callId: 'call-1', token, nonce: 'n' })),
    Buffer.alloc(0),
    changed,
    genuine.subarray(0, -1),
    sealed('null'),
    sealed('[]'),
    sealed('not JSON'),
    sealed('{}'),
  ];
  for (const request of requests) t.is(vault.answer(request), null);
});

test('a replayed request returns nothing that its sender could decrypt', (t) => {
  const keyring = newKeyring();
  const vault = createVault(keyring);
  const token = vault.put('call-1', SECRETS);
  const first = askVault(keyring, 'call-1', token);
  const replayed = vault.answer(first.request);
  if (replayed === null) return t.fail('no answer');
  t.throws(() => newKeyring().open('vault', 'reply:', replayed), undefined, 'without the key');
  const second = askVault(keyring, 'call-1', token);
  t.throws(
    () => second.open(replayed),
    undefined,
    'an old reply is not accepted as the answer to a new request',
  );
});
