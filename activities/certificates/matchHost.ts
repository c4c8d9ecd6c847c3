import ipaddr from 'ipaddr.js';
import type { AlternativeName } from './alternativeNames.ts';

/** The part of a certificate that matched the host name. Only the first two are valid by RFC 9525. */
export type MatchedBy = 'dns-san' | 'ip-san' | 'common-name' | 'partial-wildcard';

const LABEL = /^[a-z0-9-]+$/;

/**
 * How a pattern names a host: exactly or by `*` as its first label (`whole`), by `*` at the start or end of that label
 * (`part`), or not (null). As in OpenSSL, two more labels must follow a wildcard, and it stands for letters, digits and hyphens.
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
  // RFC 6125 section 6.4.3: no wildcard within an internationalised label.
  const international = wild.startsWith('xn--') || label.startsWith('xn--');
  return label.startsWith(before) && label.endsWith(after) && !international ? 'part' : null;
}

/**
 * How a certificate names a host; null if it does not. RFC 9525 compares DNS names and addresses of subjectAltName only.
 * `common-name` and `partial-wildcard` are matches by RFC 2818 and RFC 6125 that it no longer allows. The common name
 * counts only without DNS names (RFC 6125 section 6.4.4).
 *
 * @param host lower case, with A-labels, without a trailing dot
 * @param names of subjectAltName
 * @param commonNames of the subject
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
