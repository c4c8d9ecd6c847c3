import type { Address } from './address.ts';

/** Returns the name under which PTR records of an address are found (RFC 1035 section 3.5, RFC 3596 section 2.5). */
export function reverseName({ family, value }: Address): string {
  const digits = value.toString(16).padStart(family === 4 ? 8 : 32, '0');
  if (family === 6) return `${[...digits].reverse().join('.')}.ip6.arpa`;
  const octets = digits.match(/../g) ?? [];
  return `${octets
    .map((octet) => Number.parseInt(octet, 16))
    .reverse()
    .join('.')}.in-addr.arpa`;
}
