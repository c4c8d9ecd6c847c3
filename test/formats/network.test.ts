import test from 'ava';
import { isInNetworks, parseNetwork } from '../../schemas/formats/network.ts';

/** Network, addresses inside, addresses outside. */
const VECTORS: readonly [network: string, inside: readonly string[], outside: readonly string[]][] = [
  ['203.0.113.7', ['203.0.113.7', '::ffff:203.0.113.7', '::ffff:cb00:7107'], ['203.0.113.8', '::cb00:7107']],
  ['203.0.113.7/32', ['203.0.113.7'], ['203.0.113.6', '203.0.113.8']],
  ['198.51.100.0/24', ['198.51.100.0', '198.51.100.255'], ['198.51.99.255', '198.51.101.0']],
  ['10.0.0.0/8', ['10.0.0.0', '10.255.255.255', '::ffff:10.1.2.3'], ['9.255.255.255', '11.0.0.0']],
  ['172.16.0.0/12', ['172.16.0.0', '172.31.255.255'], ['172.15.255.255', '172.32.0.0']],
  ['192.0.2.128/25', ['192.0.2.128', '192.0.2.255'], ['192.0.2.127', '192.0.3.128']],
  ['0.0.0.0/0', ['0.0.0.0', '255.255.255.255', '::ffff:8.8.8.8'], ['::', '::1', '2001:db8::1']],
  ['128.0.0.0/1', ['128.0.0.0', '255.255.255.255'], ['127.255.255.255']],
  [
    '::/0',
    ['::', '::1', '2001:db8::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['1.2.3.4', '::ffff:1.2.3.4'],
  ],
  ['2001:db8::1', ['2001:db8::1', '2001:0DB8:0:0:0:0:0:1'], ['2001:db8::2', '2001:db8::']],
  ['2001:db8::1/128', ['2001:db8::1'], ['2001:db8::', '2001:db8::2']],
  ['2001:db8::/32', ['2001:db8::', '2001:db8:ffff::1'], ['2001:db7:ffff::', '2001:db9::']],
  ['2001:db8:0:40::/58', ['2001:db8:0:40::', '2001:db8:0:7f:ffff::'], ['2001:db8:0:3f::', '2001:db8:0:80::']],
  ['fe80::/10', ['fe80::1', 'fe80::1%eth0', 'febf::'], ['fec0::', 'fe7f::1']],
];

for (const [network, inside, outside] of VECTORS)
  test(`the network ${network} contains its addresses and no others`, (t) => {
    t.not(typeof parseNetwork(network), 'string');
    for (const address of inside) t.true(isInNetworks(address, [network]), address);
    for (const address of outside) t.false(isInNetworks(address, [network]), address);
  });

test('a client is permitted by any network of the list, and by none if its address is unknown', (t) => {
  const list = ['192.0.2.1', '2001:db8::/32'];
  t.true(isInNetworks('2001:db8::5', list));
  t.true(isInNetworks('192.0.2.1', list));
  for (const address of [
    '',
    'unknown',
    '192.0.2.1, 192.0.2.2',
    '192.0.2.1:443',
    '[2001:db8::1]',
    '0xc0000201',
  ])
    t.false(isInNetworks(address, list), address);
});

const INVALID: Readonly<Record<string, readonly string[]>> = {
  'IP address or a CIDR block': [
    '',
    '/',
    '/8',
    '10/8',
    '10.0.0/8',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/ 8',
    ' 10.0.0.0/8',
    '10.0.0.0/8 ',
    '010.0.0.0/8',
    '10.0.0.256',
    '10.0.0.0/255.0.0.0',
    '10.0.0.0-10.0.0.9',
    '10.0.0.*',
    '0x0a000000/8',
    '2001:db8::/129',
    '2001:db8:::/32',
    '2001:db8::%eth0',
    'fe80::%eth0/10',
    '[2001:db8::]/32',
    'example.com',
    'none',
  ],
  'bits after the prefix length': ['10.0.0.1/8', '203.0.113.7/31', '2001:db8::1/127', '128.0.0.0/0', '::1/0'],
  'written as IPv4': ['::ffff:10.0.0.1', '::ffff:10.0.0.0/104', '::ffff:0:0/96'],
};

for (const [message, texts] of Object.entries(INVALID))
  test(`text that is not a network is refused: ${message}`, (t) => {
    for (const text of texts) t.regex(String(parseNetwork(text)), new RegExp(message), JSON.stringify(text));
  });
