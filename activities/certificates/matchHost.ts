import ipaddr from 'ipaddr.js';
import type { AlternativeName } from './alternativeNames.ts';

/** The part of a certificate that matched the host. Only `dns-san` and `ip-san` are valid matches by RFC 9525. */
type MatchedBy = 'dns-san' | 'ip-san' | 'common-name' | 'partial-wildcard';

/** Labels that a wildcard matches. Browsers also accept underscores, which OpenSSL does not. */
const LABEL = /^[a-z0-9_-]+$/;

/**
 * Compares a DNS name of a certificate, which may contain a wildcard, with a host name. `whole`: they are equal, or `*` is
 * the whole first label. `part`: `*` is the start or the end of the first label. null: they do not match. As in browsers,
 * at least two labels must follow the wildcard, and the wildcard matches letters, digits, hyphens and underscores.
 */
function compare(pattern: string, host: string): 'whole' | 'part' | null {
  if (pattern.toLowerCase() === host) return 'whole';
  const [wild = '', ...rest] = pattern.toLowerCase().split('.');
  const [label = '', ...others] = host.split('.');
  if (rest.length < 2 || !rest.every((it) => LABEL.test(it)) || rest.join() !== others.join()) return null;
  if (!LABEL.test(label)) return null;
  if (wild === '*') return 'whole';
  const [before = '', after = '', ...more] = wild.split('*');
  if (!wild.includes('*') || more.length > 0 || (before !== '' && after !== '')) return null;
  // A wildcard must not be part of an internationalised label (RFC 6125 section 6.4.3).
  const international = wild.startsWith('xn--') || label.startsWith('xn--');
  return label.startsWith(before) && label.endsWith(after) && !international ? 'part' : null;
}

/**
 * Returns the part of a certificate that matches a host; null if none does. RFC 9525 accepts only the DNS names and IP
 * addresses in subjectAltName. `common-name` and `partial-wildcard` are matches that RFC 2818 and RFC 6125 accepted and
 * RFC 9525 does not. The common name is compared only if subjectAltName has no DNS names (RFC 6125 section 6.4.4).
 *
 * @param host lower case, with A-labels, without a trailing dot
 * @param names the names in the certificate's subjectAltName
 * @param commonNames the common names of the certificate's subject
 */
export function matchHost(
  host: { kind: 'name'; name: string } | { kind: 'address'; address: string },
  names: readonly AlternativeName[],
  commonNames: readonly string[],
): MatchedBy | null {
  if (host.kind === 'address') {
    const address = ipaddr.parse(host.address).toString();
    return names.some(({ kind, value }) => kind === 'ip' && value === address) ? 'ip-san' : null;
  }
  const dns = names.filter(({ kind }) => kind === 'dns').map(({ value }) => compare(value, host.name));
  if (dns.includes('whole')) return 'dns-san';
  if (dns.includes('part')) return 'partial-wildcard';
  if (dns.length > 0) return null;
  return commonNames.some((name) => compare(name, host.name) === 'whole') ? 'common-name' : null;
}
