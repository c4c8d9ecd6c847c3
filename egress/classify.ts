import { BlockList } from 'node:net';
import { type Address, type Block, isWithin, parseAddress, parseBlock } from '../schemas/formats/address.ts';
import type { Ranges } from './ranges.ts';

/** Whether an address is public. False for text that is not an address. */
export type Classifier = (address: string) => boolean;

/** @throws when the block does not parse, so that a typing error cannot leave a hole in a table */
export function readBlock(text: string): Block {
  const block = parseBlock(text);
  if (block === null) throw new Error(`no block: ${text}`);
  return block;
}

/**
 * ISATAP interface identifiers (RFC 5214 section 6.1) with either value of the universal/local bit: they embed an IPv4
 * address under any prefix. IPv4-compatible `::/96` does so too, but lies outside the public blocks.
 */
const isIsatap = ({ value }: Address): boolean => ((value >> 32n) & 0xfdff_ffffn) === 0x0000_5efen;

/** Classifies by the table of blocks. */
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

/** Classifies by Node's `BlockList` over spans; it shares neither code nor data with the first classifier. */
export function createSecondClassifier(spans: readonly (readonly [string, string])[]): Classifier {
  const refused = new BlockList();
  const family = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4');
  for (const [first, last] of spans) refused.addRange(first, last, family(first));
  return (address) => !refused.check(address, family(address));
}
