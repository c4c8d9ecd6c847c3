import { BlockList } from 'node:net';
import { type Address, type Block, isWithin, parseAddress, parseBlock } from '../schemas/formats/address.ts';
import type { Ranges } from './ranges.ts';

/** Tells whether an IP address is public. Returns false for text that is not an IP address. */
export type Classifier = (address: string) => boolean;

/**
 * Parses a CIDR block.
 *
 * @throws Error when the text is not a CIDR block, so that a typing error in a table of blocks cannot open addresses
 */
export function readBlock(text: string): Block {
  const block = parseBlock(text);
  if (block === null) throw new Error(`not a CIDR block: ${text}`);
  return block;
}

/**
 * Whether an IPv6 address has an ISATAP interface identifier (RFC 5214 section 6.1), with either value of the
 * universal/local bit. Such an address embeds an IPv4 address under any prefix. IPv4-compatible addresses (`::/96`) embed
 * one as well, but lie outside `ipv6Public` and need no check.
 */
const isIsatap = ({ value }: Address): boolean => ((value >> 32n) & 0xfdff_ffffn) === 0x0000_5efen;

/** Creates a classifier from tables of CIDR blocks. */
export function createClassifier(ranges: Ranges): Classifier {
  const ipv4 = ranges.ipv4.map(readBlock);
  const ipv6Public = ranges.ipv6Public.map(readBlock);
  const ipv6 = ranges.ipv6.map(readBlock);
  return (text) => {
    const address = parseAddress(text);
    if (address === null) return false;
    const within = (block: Block): boolean => isWithin(address, block);
    return address.family === 4
      ? !ipv4.some(within)
      : ipv6Public.some(within) && !ipv6.some(within) && !isIsatap(address);
  };
}

/**
 * Creates a classifier from the first and last addresses of refused spans, with Node's `BlockList`. It shares neither code
 * nor data with `createClassifier`, so that a mistake in only one of the two cannot open an address.
 */
export function createSecondClassifier(spans: readonly (readonly [string, string])[]): Classifier {
  const refused = new BlockList();
  const family = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4');
  for (const [first, last] of spans) refused.addRange(first, last, family(first));
  return (address) => !refused.check(address, family(address));
}
