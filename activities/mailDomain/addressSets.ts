import { parseBlock } from '../../schemas/formats/address.ts';

/** Inclusive range of numbers. */
type Span = readonly [first: number, last: number];
/** Addresses of both families: IPv4 addresses, and the first 48 bits of IPv6 addresses, as sorted spans that do not overlap. */
export interface AddressSet {
  4: readonly Span[];
  6: readonly Span[];
}

const BITS = { 4: 32, 6: 48 } as const;
/** Longest prefixes of blocks that are counted. Records name too few smaller ones to cover a large part of all addresses. */
const LONGEST = { 4: 16, 6: 40 } as const;
/** Where public unicast addresses lie: 1.0.0.0 to 223.255.255.255, and 2000::/3. */
const UNICAST = { 4: [0x0100_0000, 0xdfff_ffff], 6: [0x2000_0000_0000, 0x3fff_ffff_ffff] } as const;

const FAMILIES = [4, 6] as const;
const perFamily = (of: (family: 4 | 6) => readonly Span[]): AddressSet => ({ 4: of(4), 6: of(6) });

export const NO_ADDRESS: AddressSet = { 4: [], 6: [] };
export const EVERY_ADDRESS: AddressSet = perFamily((family) => [[0, 2 ** BITS[family] - 1]]);

/** Returns the addresses of a block such as `192.0.2.0/24` or of a single address; none of a small block. */
export function addressesOf(text: string): AddressSet {
  const [address = '', bits] = text.split('/');
  const family = address.includes(':') ? 6 : 4;
  const length = Number(bits ?? 128);
  const block = length <= LONGEST[family] ? parseBlock(`${address}/${length}`) : null;
  if (block === null) return NO_ADDRESS;
  const shift = family === 6 ? 80n : 0n;
  const span: Span = [Number(block.first >> shift), Number(block.last >> shift)];
  return perFamily((it) => (it === family ? [span] : []));
}

function joined(spans: readonly Span[]): Span[] {
  const result: [number, number][] = [];
  for (const [first, last] of [...spans].sort(([one], [other]) => one - other)) {
    const end = result.at(-1);
    if (end !== undefined && first <= end[1] + 1) end[1] = Math.max(end[1], last);
    else result.push([first, last]);
  }
  return result;
}

const overlap = (one: readonly Span[], other: readonly Span[]): Span[] =>
  one.flatMap(([first, last]) =>
    other.flatMap(([from, to]): Span[] =>
      Math.max(first, from) <= Math.min(last, to) ? [[Math.max(first, from), Math.min(last, to)]] : [],
    ),
  );

function gaps(spans: readonly Span[], max: number): Span[] {
  const edges = [-1, ...spans.flat(), max + 1];
  return Array.from(
    { length: edges.length / 2 },
    (_, index): Span => [(edges[2 * index] ?? 0) + 1, (edges[2 * index + 1] ?? 0) - 1],
  ).filter(([first, last]) => first <= last);
}

export const union = (one: AddressSet, other: AddressSet): AddressSet =>
  perFamily((family) => joined([...one[family], ...other[family]]));
export const intersection = (one: AddressSet, other: AddressSet): AddressSet =>
  perFamily((family) => overlap(one[family], other[family]));
export const difference = (one: AddressSet, other: AddressSet): AddressSet =>
  perFamily((family) => overlap(one[family], gaps(other[family], 2 ** BITS[family] - 1)));

export const isEmpty = (set: AddressSet): boolean => FAMILIES.every((family) => set[family].length === 0);

/** Returns the share of the public unicast addresses of each family that a set contains, from 0 to 1. */
export function shareOf(set: AddressSet): Record<4 | 6, number> {
  const [four = 0, six = 0] = FAMILIES.map((family) => {
    const [first, last] = UNICAST[family];
    const size = overlap(set[family], [[first, last]]).reduce((sum, [from, to]) => sum + to - from + 1, 0);
    return size / (last - first + 1);
  });
  return { 4: four, 6: six };
}
