import ipaddr from 'ipaddr.js';

/**
 * Returns the address of a client for storage: an IPv4 address in IPv6 form as IPv4. Empty if it is not an IP address,
 * because a proxy can pass on any text of a client.
 */
export const plainAddress = (address: string): string =>
  ipaddr.isValid(address) ? ipaddr.process(address).toString() : '';

/**
 * Returns the key under which a client address is counted in rate limits. An IPv6 client controls a whole /64 network
 * (RFC 6177), an IPv4 client a single address.
 */
export function addressKey(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
