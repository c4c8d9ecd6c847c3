import { isIP } from 'node:net';

/** An IP address as a number, so that different spellings of an address are equal. */
export interface Address {
  family: 4 | 6;
  value: bigint;
}

/** A CIDR block of IP addresses, from `first` to `last` inclusive. */
export interface Block {
  family: 4 | 6;
  first: bigint;
  last: bigint;
}

const ipv4Value = (text: string): number =>
  text.split('.').reduce((value, octet) => value * 256 + Number(octet), 0);

/** @param text a valid IPv6 address */
function ipv6Value(text: string): bigint {
  const [head = '', tail] = text.split('::');
  const groups = (part: string): string[] =>
    part.split(':').flatMap((group) => {
      if (!group.includes('.')) return group === '' ? [] : [group.padStart(4, '0')];
      const hex = ipv4Value(group).toString(16).padStart(8, '0');
      return [hex.slice(0, 4), hex.slice(4)];
    });
  const left = groups(head).join('');
  const right = groups(tail ?? '').join('');
  return BigInt(`0x${left}${right.padStart(32 - left.length, '0')}`);
}

/**
 * Parses an IP address in a standard text form. Returns null for anything else, including `127.1` and addresses with
 * a zone id.
 */
export function parseAddress(text: string): Address | null {
  const family = isIP(text);
  if (family === 4) return { family, value: BigInt(ipv4Value(text)) };
  return family === 6 && !text.includes('%') ? { family, value: ipv6Value(text) } : null;
}

/**
 * Parses a CIDR block, `<address>/<prefix length>`. Returns null for anything else. Bits of the address beyond the
 * prefix are ignored.
 */
export function parseBlock(text: string): Block | null {
  const [, start = '', length = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const address = parseAddress(start);
  const bits = address?.family === 4 ? 32 : 128;
  if (address === null || Number(length) > bits) return null;
  const { family, value } = address;
  const rest = BigInt(bits - Number(length));
  const first = (value >> rest) << rest;
  return { family, first, last: first + (1n << rest) - 1n };
}

export const isWithin = ({ family, value }: Address, block: Block): boolean =>
  family === block.family && value >= block.first && value <= block.last;
