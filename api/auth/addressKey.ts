import ipaddr from 'ipaddr.js';

/** What limits by address count under: an IPv6 caller commands a whole /64 (RFC 6177), an IPv4 one a single address. */
export function addressKey(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
