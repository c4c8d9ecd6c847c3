/** What a caller wrote where a host was asked for. */
export type Host =
  /** A DNS name as it is asked for: A-labels, lower case, no trailing dot. */
  | { kind: 'name'; name: string }
  /** An IP address in whatever spelling, as the URL Standard serialises it, without brackets. */
  | { kind: 'address'; address: string; family: 4 | 6 }
  | { kind: 'invalid'; message: string };

const invalid = (message: string): Host => ({ kind: 'invalid', message });

/** RFC 1035 section 2.3.4: 255 octets on the wire are 253 characters in text. */
const MAX_NAME = 253;
const LABEL = /^[a-z0-9_-]{1,63}$/;

/** Characters the URL parser would drop, decode or take as the end of the host. */
const NEVER_IN_A_HOST = /[\p{Cc}\s@/?#\\%]/u;

/**
 * Reads a bare host by the URL Standard's host parser, the one browsers and `fetch` use, so that what is checked is
 * what is later asked for: `0x7f.1`, `①②⑦.0.0.1` and `::1` come out as the addresses they stand for.
 */
export function parseHost(text: string): Host {
  if (NEVER_IN_A_HOST.test(text))
    return invalid('is not a bare host name: leave out scheme, port, path, user and spaces');
  if (/^\[.*\]$/.test(text) || text.includes(':')) {
    const literal = text.replace(/^\[(.*)\]$/, '$1');
    const url = /^[0-9a-f:.]+$/i.test(literal) ? URL.parse(`http://[${literal}]/`) : null;
    return url === null
      ? invalid('is not a bare host name: leave out scheme and port')
      : { kind: 'address', address: url.hostname.slice(1, -1), family: 6 };
  }
  const hostname = URL.parse(`http://${text}/`)?.hostname;
  return hostname === undefined ? invalid('is not a host name') : readHostname(hostname);
}

/** Reads the `hostname` of a parsed http or https URL. */
export function readHostname(hostname: string): Host {
  if (hostname.startsWith('[')) return { kind: 'address', address: hostname.slice(1, -1), family: 6 };
  // The parser lets a last label of digits through only as part of an IPv4 address.
  if (/^\d+(?:\.\d+){3}$/.test(hostname)) return { kind: 'address', address: hostname, family: 4 };

  const name = hostname.replace(/\.$/, '');
  if (name.length > MAX_NAME) return invalid(`is longer than ${MAX_NAME} characters`);
  // A leading hyphen would reach programs as an option.
  if (name.startsWith('-') || !name.split('.').every((label) => LABEL.test(label)))
    return invalid(
      'is not a host name: each part between dots is 1 to 63 letters, digits, hyphens or underscores',
    );
  return { kind: 'name', name };
}

/**
 * Suffixes that name machines of the network we run in, never of the public Internet; RFC 6762 appendix G lists what
 * networks use beside those reserved for it. Names under `onion` must not be asked for in DNS (RFC 7686).
 */
const INTERNAL_SUFFIXES = [
  ...['internal', 'local', 'localhost', 'localdomain', 'localdomain6', 'home.arpa'],
  ...['corp', 'home', 'intranet', 'lan', 'private', 'onion'],
];

/**
 * True for names that only mean something inside a network: the suffixes above, and every single label, which a
 * resolver may complete or serve from a private zone (so top-level domains are internal too).
 *
 * @param name lower case, without a trailing dot
 */
export const isInternalName = (name: string): boolean =>
  !name.includes('.') || INTERNAL_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
