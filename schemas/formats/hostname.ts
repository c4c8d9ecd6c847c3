/** A host name or IP address from a caller's input, parsed. */
export type Host =
  /** A DNS name as it is queried: A-labels (`xn--…`), lower case, no trailing dot. */
  | { kind: 'name'; name: string }
  /** An IP address in the text form of the URL Standard, without brackets. */
  | { kind: 'address'; address: string; family: 4 | 6 }
  | { kind: 'invalid'; message: string };

const invalid = (message: string): Host => ({ kind: 'invalid', message });

/**
 * Maximum length of a DNS name in characters: 255 octets on the wire (RFC 1035 section 2.3.4) are 253 characters in
 * text.
 */
const MAX_NAME = 253;
const LABEL = /^[a-z0-9_-]+$/;
/**
 * A label of a queried name. DNS allows every byte (RFC 2181 section 11), but other characters than these are more
 * likely typing errors or parts of URLs.
 */
const QUERY_LABEL = /^[a-z0-9*+,=_-]{1,63}$/;

/** Characters that a URL parser would drop, decode or treat as the end of the host. */
const NEVER_IN_A_HOST = /[\p{Cc}\s@/?#\\%]/u;

/**
 * Parses a bare host with the host parser of the URL Standard, which browsers and `fetch` also use, so that the host
 * that is checked is the host that is contacted. `0x7f.1` and `①②⑦.0.0.1` become the address 127.0.0.1.
 */
export const parseHost = (text: string): Host => parse(text, readHostname);

/** A label of a reverse zone of a few addresses (RFC 2317 section 4), such as `0/25` in `0/25.2.0.192.in-addr.arpa`. */
const RANGE_LABEL = /^\d{1,3}\/\d{1,3}$/;

/**
 * Parses a name for a DNS query. In contrast to the host of a connection, the name may begin with a hyphen, be a
 * wildcard (`*.example.com`, RFC 4592), contain `+`, `,` and `=`, and have labels such as `0/25` before its last one.
 */
export function parseQueryName(text: string): Host {
  const labels = text.split('.');
  const isRange = (label: string, index: number): boolean =>
    RANGE_LABEL.test(label) && /[a-z]/i.test(labels.slice(index + 1).join(''));
  if (!labels.some(isRange)) return parse(text, readQueryName);
  // The URL parser takes a slash for the end of the host, so it parses the name with hyphens in these labels.
  const host = parse(
    labels.map((label, index) => (isRange(label, index) ? label.replace('/', '-') : label)).join('.'),
    readQueryName,
  );
  if (host.kind !== 'name') return host;
  const name = host.name
    .split('.')
    .map((label, index) => (isRange(labels[index] ?? '', index) ? label.replace('-', '/') : label))
    .join('.');
  return { kind: 'name', name };
}

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

/** Classifies the `hostname` of a parsed http or https URL as a name, an address or invalid. */
export function readHostname(hostname: string): Host {
  const host = readQueryName(hostname);
  if (host.kind !== 'name') return host;
  // Programs that are started with the host as an argument would interpret a leading hyphen as an option.
  if (host.name.startsWith('-') || !host.name.split('.').every((label) => LABEL.test(label)))
    return invalid(
      'is not a host name: each part between dots must have 1 to 63 letters, digits, hyphens or underscores',
    );
  return host;
}

function readQueryName(hostname: string): Host {
  if (hostname.startsWith('[')) return { kind: 'address', address: hostname.slice(1, -1), family: 6 };
  // The URL parser rejects a numeric last label except in an IPv4 address, so four numeric labels are an address.
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
 * Reverse zones of the addresses of private networks (RFC 6303, RFC 7793): RFC 1918, RFC 6598, loopback, link-local and
 * unique local addresses.
 */
const INTERNAL_REVERSE = [
  ...[
    '10',
    '168.192',
    '127',
    '254.169',
    ...Array.from({ length: 16 }, (_, index) => `${16 + index}.172`),
  ].map((part) => `${part}.in-addr.arpa`),
  ...Array.from({ length: 64 }, (_, index) => `${64 + index}.100.in-addr.arpa`),
  ...['c.f', 'd.f', '8.e.f', '9.e.f', 'a.e.f', 'b.e.f', `1${'.0'.repeat(31)}`].map(
    (part) => `${part}.ip6.arpa`,
  ),
];

/**
 * Suffixes of names in private networks: reserved ones, and others that RFC 6762 appendix G lists as in use. Names
 * under `onion` must not be resolved by DNS (RFC 7686).
 */
const INTERNAL_SUFFIXES = [
  ...['internal', 'local', 'localhost', 'localdomain', 'localdomain6', 'home.arpa'],
  ...['corp', 'home', 'intranet', 'lan', 'private', 'onion'],
  ...INTERNAL_REVERSE,
];

/**
 * Whether a name belongs to a private network: it has one of `INTERNAL_SUFFIXES`, or is a single label. Single
 * labels, including top-level domains, count because a resolver may append a search domain or serve them from a
 * private zone.
 *
 * @param name lower case, without a trailing dot
 */
export const isInternalName = (name: string): boolean =>
  !name.includes('.') || INTERNAL_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
