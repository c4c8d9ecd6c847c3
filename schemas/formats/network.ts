import { type Address, type Block, isWithin, parseAddress, parseBlock } from './address.ts';

/** IPv4 addresses in IPv6 form (RFC 4291, section 2.5.5.2), as the sockets of a dual-stack server report them. */
const MAPPED = parseBlock('::ffff:0:0/96');

/** Whether the whole block consists of IPv4 addresses in IPv6 form. */
const isMapped = ({ family, first, last }: Block): boolean =>
  MAPPED !== null && isWithin({ family, value: first }, MAPPED) && isWithin({ family, value: last }, MAPPED);

const asBlock = ({ family, value }: Address): Block => ({ family, first: value, last: value });

/**
 * Parses a network from which a key may be used: an IP address or a CIDR block. Stricter than `parseBlock`, because a
 * typing error here would admit other clients than the owner means.
 *
 * @returns the block, or a message that says what is wrong
 */
export function parseNetwork(text: string): Block | string {
  const address = parseAddress(text.replace(/\/\d{1,3}$/, ''));
  const block = text.includes('/') ? parseBlock(text) : address && asBlock(address);
  if (address === null || block === null)
    return 'must be an IP address or a CIDR block, such as 203.0.113.7, 198.51.100.0/24 or 2001:db8::/32';
  if (block.first !== address.value)
    return 'must begin with the first address of the block: the bits after the prefix length must be 0';
  return isMapped(block) ? 'must be written as IPv4' : block;
}

/** Parses the address of a client. An IPv4 address in IPv6 form becomes an IPv4 address; a zone id is ignored. */
function parseClient(text: string): Address | null {
  const address = parseAddress(text.replace(/%.*$/s, ''));
  if (address === null || !isMapped(asBlock(address))) return address;
  return { family: 4, value: address.value & 0xffff_ffffn };
}

/**
 * Whether a client address is in one of the networks. An address that cannot be parsed is in none, and an IPv4 client is
 * never in an IPv6 block.
 */
export function isInNetworks(client: string, networks: readonly string[]): boolean {
  const address = parseClient(client);
  if (address === null) return false;
  return networks.some((network) => {
    const block = parseNetwork(network);
    return typeof block !== 'string' && isWithin(address, block);
  });
}
