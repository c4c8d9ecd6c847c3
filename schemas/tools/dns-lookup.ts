import { parseAddress } from '../formats/address.ts';
import { RECORD, RECORD_TYPES } from '../formats/dnsRecords.ts';
import { type Host, parseQueryName } from '../formats/hostname.ts';
import { reverseName } from '../formats/reverseName.ts';
import { defineTool } from '../tool.ts';

/** Parses the input: the name to query; for PTR records of an IP address, its reverse name. */
export function readQuery(hostname: string, recordType: string): Host {
  const host = parseQueryName(hostname);
  const address = host.kind === 'address' && recordType === 'PTR' ? parseAddress(host.address) : null;
  return address === null ? host : { kind: 'name', name: reverseName(address) };
}

export default defineTool({
  name: 'dns-lookup',
  title: 'DNS lookup',
  description:
    'Looks up one type of DNS record of a domain. Internationalised names are converted (IDNA); labels may ' +
    'contain underscores, begin with a hyphen, be `*`, which is queried literally, or be ranges such as `0/25` (RFC 2317). A domain that does not exist is `host_not_found`, whose `detail` has the extended errors (RFC 8914) of a name server that blocks it. A domain that exists without a record of ' +
    'the requested type gives `found: false`, even if it is an alias (CNAME) whose target has no such record. Aliases are ' +
    'followed for every type except CNAME, and the records are those of the last name in the chain. A name server that fails ' +
    '(SERVFAIL, REFUSED, a malformed response) is `target_failed`, and `detail` has the response code and the extended errors ' +
    'of the server; one that does not respond is `target_timeout`. ' +
    'Names of internal networks (under `.internal`, `.local`, `.localhost`, `.localdomain`, `.home.arpa`, `.corp`, ' +
    '`.home`, `.intranet`, `.lan`, `.private`, `.onion`, and the reverse zones of private addresses), aliases of such names, and ' +
    'single-label names, including top-level domains, are `target_refused`. Names in records are lower case without a trailing dot; special ' +
    'characters are escaped as in zone files (`\\.`, `\\032`). Responses are cached for as long as their TTL allows, at ' +
    'most 300 s, including negative responses.',
  price: 1,
  pool: 'network',
  limits: { workMs: 10_000 },
  input: {
    type: 'object',
    properties: {
      hostname: {
        type: 'string',
        minLength: 1,
        // Longest name: 253 characters and a trailing dot.
        maxLength: 254,
        description:
          'Domain name of at most 253 characters, not a URL. With `PTR`, it may be an IP address, whose reverse name is then looked up.',
      },
      recordType: {
        type: 'string',
        enum: RECORD_TYPES,
        default: 'A',
        description: 'Type of record to look up.',
      },
      dnssec: {
        type: 'boolean',
        default: false,
        description:
          'Whether to validate the answer by DNSSEC, from the keys of the root zone on. Records that fail are then returned with the ' +
          'reason; without this option, most name servers answer SERVFAIL for them.',
      },
    },
    required: ['hostname'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      hostname: {
        type: 'string',
        description:
          'The queried name: lower case, internationalised labels as `xn--…`, no trailing dot; for an IP address its reverse name.',
      },
      recordType: { type: 'string', enum: RECORD_TYPES, description: 'The queried record type.' },
      records: {
        type: 'array',
        description:
          "Matching records in the name server's order; empty if there are none. Their fields depend on the record type.",
        items: RECORD,
      },
      found: {
        type: 'boolean',
        description:
          'Whether there are matching records; false if the name exists but has no record of this type.',
      },
      dnssec: {
        type: ['string', 'null'],
        enum: ['secure', 'insecure', 'bogus', null],
        description:
          'Whether DNSSEC proves the answer, including that there are no records: `secure`; `insecure` if a zone on the way from the root ' +
          'is not signed, so that there is nothing to prove; `bogus` if a signature or a proof is missing or wrong. Null unless it is asked for.',
      },
      dnssecBrokenLink: {
        type: ['string', 'null'],
        description:
          'The first link from the root to the records that is broken, such as an expired signature or a key that does not match the DS ' +
          'records of the parent zone; null unless `dnssec` is `bogus`.',
      },
    },
    required: ['hostname', 'recordType', 'records', 'found', 'dnssec', 'dnssecBrokenLink'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { hostname: 'example.com', recordType: 'MX' },
      output: {
        hostname: 'example.com',
        recordType: 'MX',
        records: [
          { exchange: 'mail.example.com', priority: 10, ttl: 300 },
          { exchange: 'backup.example.net', priority: 20, ttl: 300 },
        ],
        found: true,
        dnssec: null,
        dnssecBrokenLink: null,
      },
    },
    {
      input: { hostname: 'example.com', recordType: 'CNAME' },
      output: {
        hostname: 'example.com',
        recordType: 'CNAME',
        records: [],
        found: false,
        dnssec: null,
        dnssecBrokenLink: null,
      },
    },
  ],
  errors: ['host_not_found', 'target_refused', 'target_failed', 'target_timeout'],
  check({ hostname, recordType }) {
    const host = readQuery(hostname, recordType);
    if (host.kind === 'name') return [];
    const message = host.kind === 'address' ? 'is an IP address; enter a domain name' : host.message;
    return [{ pointer: '/hostname', message }];
  },
});
