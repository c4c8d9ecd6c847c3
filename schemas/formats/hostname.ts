/** A parsed host of an input. */
export type Host =
  /** A DNS name in query form: A-labels, lower case, no trailing dot. */
  | { kind: 'name'; name: string }
  /** An IP address, serialised as in the URL Standard, without brackets. */
  | { kind: 'address'; address: string; family: 4 | 6 }
  | { kind: 'invalid'; message: string };

const invalid = (message: string): Host => ({ kind: 'invalid', message });

/** RFC 1035 section 2.3.4: 255 octets on the wire are 253 characters in text. */
const MAX_NAME = 253;
const LABEL = /^[a-z0-9_-]+$/;
/** DNS itself allows every byte (RFC 2181 section 11); others than these are rather typing errors or URLs. */
const QUERY_LABEL = /^[a-z0-9*+,=_-]{1,63}$/;

/** Characters that the URL parser would drop, decode or treat as the end of the host. */
const NEVER_IN_A_HOST = /[\p{Cc}\s@/?#\\%]/u;

/**
 * Parses a bare host with the host parser of the URL Standard, which browsers and `fetch` also use, so that the checked host
 * is the one that is contacted: `0x7f.1`, `①②⑦.0.0.1` and `::1` become the addresses that they denote.
 */
export const parseHost = (text: string): Host => parse(text, readHostname);

/**
 * Parses a name for a DNS query. Unlike a host, which programs are given and connections are opened to, it may begin with a
 * hyphen, be a wildcard (`*.example.com`, RFC 4592) and contain `+`, `,` and `=`.
 */
export const parseQueryName = (text: string): Host => parse(text, readQueryName);

function parse(text: string, read: (hostname: string) => Host): Host {
  if (NEVER_IN_A_HOST.test(text))
    return invalid('is not a bare host name: remove scheme, port, path, user and spaces');
  if (/^\[.*\]$/.test(text) || text.includes(':')) {
    const literal = text.replace(/^\[(.*)\]$/, '$1');
    const url = /^[0-9a-f:.]+$/i.test(literal) ? URL.parse(`http://[${literal}]/`) : null;
    return url === null
      ? invalid('is not a bare host name: remove scheme and port')
      : { kind: 'address', address: url.hostname.slice(1, -1), family: 6 };
  }
  const hostname = URL.parse(`http://${text}/`)?.hostname;
  return hostname === undefined ? invalid('is not a host name') : read(hostname);
}

/** Classifies the `hostname` of a parsed http or https URL. */
export function readHostname(hostname: string): Host {
  const host = readQueryName(hostname);
  if (host.kind !== 'name') return host;
  // Programs would interpret a leading hyphen as an option.
  if (host.name.startsWith('-') || !host.name.split('.').every((label) => LABEL.test(label)))
    return invalid(
      'is not a host name: each part between dots must have 1 to 63 letters, digits, hyphens or underscores',
    );
  return host;
}

function readQueryName(hostname: string): Host {
  if (hostname.startsWith('[')) return { kind: 'address', address: hostname.slice(1, -1), family: 6 };
  // The URL parser accepts a numeric last label only in an IPv4 address.
  if (/^\d+(?:\.\d+){3}$/.test(hostname)) return { kind: 'address', address: hostname, family: 4 };

  const name = hostname.replace(/\.$/, '');
  if (name.length > MAX_NAME) return invalid(`is longer than ${MAX_NAME} characters`);
  if (!name.split('.').every((label) => QUERY_LABEL.test(label)))
    return invalid(
      'is not a domain name: each part between dots must have 1 to 63 letters, digits or characters of *+,=_-',
    );
  return { kind: 'name', name };
}

/**
 * Suffixes of names in private networks. RFC 6762 appendix G lists those in use besides the reserved ones. Names under
 * `onion` must not be resolved by DNS (RFC 7686).
 */
const INTERNAL_SUFFIXES = [
  ...['internal', 'local', 'localhost', 'localdomain', 'localdomain6', 'home.arpa'],
  ...['corp', 'home', 'intranet', 'lan', 'private', 'onion'],
];

/**
 * True for names of private networks: the suffixes above, and all single labels, including top-level domains, because a
 * resolver may complete them or serve them from a private zone.
 *
 * @param name lower case, without a trailing dot
 */
export const isInternalName = (name: string): boolean =>
  !name.includes('.') || INTERNAL_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
