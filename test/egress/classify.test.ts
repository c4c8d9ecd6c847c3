import { readFileSync } from 'node:fs';
import test from 'ava';
import ipaddr from 'ipaddr.js';
import { type Classifier, createClassifier, createSecondClassifier } from '../../egress/classify.ts';
import { RANGES, type Ranges, REFUSED_SPANS } from '../../egress/ranges.ts';
import { parseAddress } from '../../schemas/formats/address.ts';
import { seededRandom } from '../helpers/random.ts';

type Row = [block: string, name: string, source: string];
interface Registry {
  ipv4: Row[];
  ipv6: Row[];
  ipv6GlobalUnicast: string;
  clouds: Row[];
}
const registry: Registry = JSON.parse(
  readFileSync(new URL('../vectors/iana-special-purpose.json', import.meta.url), 'utf8'),
);
const rows = [...registry.ipv4, ...registry.ipv6, ...registry.clouds].map(([block]) => block);

type Network = ReturnType<typeof ipaddr.parseCIDR>;
const isWithin = (address: ReturnType<typeof ipaddr.parse>, [network, prefix]: Network): boolean =>
  network.kind() === address.kind() && address.match(network, prefix);
const special = rows.map((block) => ipaddr.parseCIDR(block));
const globalUnicast = ipaddr.parseCIDR(registry.ipv6GlobalUnicast);

/**
 * Decides with the IANA registries and ipaddr.js, which shares no code with the classifiers, whether an address is
 * public.
 */
function isPublicByRegistry(text: string): boolean {
  const address = ipaddr.parse(text);
  const possible = address.kind() === 'ipv4' || isWithin(address, globalUnicast);
  return possible && !special.some((network) => isWithin(address, network));
}

const bytesOf = (value: bigint, length: number): number[] => [
  ...Buffer.from(value.toString(16).padStart(2 * length, '0'), 'hex'),
];

/** Returns the first and last address of a block, and the address before the first and after the last. */
function edges(block: string): string[] {
  const [network, prefix] = ipaddr.parseCIDR(block);
  const bytes = network.toByteArray();
  const bits = 8 * bytes.length;
  const first = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  const size = 1n << BigInt(bits - prefix);
  return [first - 1n, first, first + size / 2n, first + size - 1n, first + size]
    .filter((value) => value >= 0n && value < 1n << BigInt(bits))
    .map((value) => ipaddr.fromByteArray(bytesOf(value, bytes.length)).toString());
}

/** The edges of every block in the registries. */
const EDGES = [...rows, registry.ipv6GlobalUnicast, '::/96', '::ffff:0:0:0/96'].flatMap(edges);

const first = createClassifier(RANGES);
const second = createSecondClassifier(REFUSED_SPANS);

for (const [name, isPublic] of Object.entries({ first, second }))
  test(`the ${name} classifier agrees with the IANA registries at the edges of every block`, (t) => {
    t.true(EDGES.length > 200);
    for (const address of EDGES) t.is(isPublic(address), isPublicByRegistry(address), address);
  });

test('both classifiers agree with the IANA registries on random addresses, near special blocks and anywhere', (t) => {
  const random = seededRandom(t.log);
  const near = (): string => {
    const [network, prefix] = ipaddr.parseCIDR(random.pick(rows));
    const bytes = network.toByteArray();
    const keep = random.integer(Math.max(0, prefix - 4), prefix);
    const noise = random.bytes(bytes.length);
    const mixed = bytes.map((byte, index) => {
      const bits = Math.min(8, Math.max(0, keep - 8 * index));
      const mask = (0xff << (8 - bits)) & 0xff;
      return (byte & mask) | ((noise[index] ?? 0) & ~mask & 0xff);
    });
    return ipaddr.fromByteArray(mixed).toString();
  };
  const anywhere = (): string => ipaddr.fromByteArray([...random.bytes(random.pick([4, 16]))]).toString();
  const wrong: string[] = [];
  for (let index = 0; index < 20_000; index++) {
    const address = index % 2 === 0 ? near() : anywhere();
    const expected = isPublicByRegistry(address);
    if (first(address) !== expected || second(address) !== expected) wrong.push(address);
  }
  t.deepEqual(wrong, []);
});

test('all spellings of an address get the same verdict', (t) => {
  const random = seededRandom(t.log);
  for (let index = 0; index < 2_000; index++) {
    const bytes = random.bytes(16).map((byte) => (random.integer(0, 1) === 0 ? 0 : byte));
    const address = new ipaddr.IPv6([...bytes]);
    const hex = Buffer.from(bytes).toString('hex');
    const groups = hex.toUpperCase().match(/.{4}/g) ?? [];
    const dotted = [...groups.slice(0, 6), bytes.subarray(12).join('.')];
    for (const text of [`${address}`, address.toNormalizedString(), groups.join(':'), dotted.join(':')])
      t.is(parseAddress(text)?.value, BigInt(`0x${hex}`), text);
  }
});

test('addresses that embed an IPv4 address are refused', (t) => {
  const embedded = [
    '::8.8.8.8',
    '::ffff:8.8.8.8',
    '::ffff:0:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '64:ff9b:1::8.8.8.8',
  ];
  const inside = [
    '2002:808:808::1',
    '2001:0:808:808::1',
    '2a00:1450::5efe:8.8.8.8',
    '2a00:1450::200:5efe:8.8.8.8',
  ];
  for (const address of [...embedded, ...inside]) t.false(first(address), address);
  t.true(first('2a00:1450::5eff:8.8.8.8'));
});

test('text that is not an address is classified as not public', (t) => {
  for (const text of [
    '',
    '127.1',
    '0x7f000001',
    '8.8.8',
    '8.8.8.8.',
    ' 8.8.8.8',
    '2a00::1%eth0',
    '[2a00::1]',
    'example.com',
  ])
    t.false(first(text), text);
});

/** Counts the edges at which two classifiers disagree. */
const differences = (one: Classifier, other: Classifier): number =>
  EDGES.filter((address) => one(address) !== other(address)).length;

/**
 * Returns the block with a prefix that is longer by this many bits (a smaller block); a negative number makes the
 * prefix shorter (a larger block).
 */
function resized(block: string, by: number): string[] {
  const [network, prefix] = ipaddr.parseCIDR(block);
  const length = prefix + by;
  return length < 0 || length > 8 * network.toByteArray().length ? [] : [`${network}/${length}`];
}

const TABLES: (keyof Ranges)[] = ['ipv4', 'ipv6Public', 'ipv6'];
for (const table of TABLES)
  test(`dropping, widening or narrowing any block of ${table} changes at least one verdict`, (t) => {
    for (const [index, block] of RANGES[table].entries()) {
      const replace = (blocks: string[]): Classifier =>
        createClassifier({ ...RANGES, [table]: RANGES[table].toSpliced(index, 1, ...blocks) });
      t.true(differences(first, replace([])) > 0, `${block} dropped`);
      for (const other of [...resized(block, 1), ...resized(block, -1)])
        t.true(differences(first, replace([other])) > 0, `${block} as ${other}`);
    }
  });

test('dropping a span of the second table, or moving either end by one, changes at least one verdict', (t) => {
  const moved = (text: string, by: bigint): string => {
    const bytes = ipaddr.parse(text).toByteArray();
    const value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`) + by;
    const top = 1n << BigInt(8 * bytes.length);
    return ipaddr
      .fromByteArray(bytesOf(value < 0n ? 0n : value < top ? value : top - 1n, bytes.length))
      .toString();
  };
  for (const [index, span] of REFUSED_SPANS.entries()) {
    const [start, end] = span;
    const replace = (spans: (readonly [string, string])[]): Classifier =>
      createSecondClassifier(REFUSED_SPANS.toSpliced(index, 1, ...spans));
    t.true(differences(second, replace([])) > 0, `${start} dropped`);
    const changed: [string, string][] = [
      [moved(start, 1n), end],
      [moved(start, -1n), end],
      [start, moved(end, 1n)],
      [start, moved(end, -1n)],
    ];
    const value = (text: string): bigint => parseAddress(text)?.value ?? -1n;
    for (const [from, to] of changed) {
      const same = from === start && to === end;
      if (!same && value(from) <= value(to))
        t.true(differences(second, replace([[from, to]])) > 0, `${from}-${to}`);
    }
  }
});
