import { networkInterfaces } from 'node:os';
import test from 'ava';
import { addressTowards } from '../../egress/addressTowards.ts';

test('the address towards a server is that of the interface that leads to it', async (t) => {
  t.is(await addressTowards('127.0.0.1:7233'), '127.0.0.1');
  t.is(await addressTowards('[::1]:7233'), '::1');
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal);
  for (const { address } of own) t.is(await addressTowards(`${address}:7233`), address);
});

test('an unknown server is an error', async (t) => {
  await t.throwsAsync(addressTowards('nowhere.invalid:7233'), { message: /ENOTFOUND|EAI_AGAIN/ });
});
