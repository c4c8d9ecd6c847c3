import ipaddr from 'ipaddr.js';

/** Key of limits per address: an IPv6 client controls a whole /64 (RFC 6177), an IPv4 client a single address. */
export function addressKey(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
