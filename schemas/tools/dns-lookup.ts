import { parseQueryName } from '../formats/hostname.ts';
import { defineTool } from '../tool.ts';

const RECORD_TYPES = ['A', 'AAAA', 'MX', 'TXT', 'NS', 'CNAME', 'SOA'] as const;

const ttl = {
  type: 'integer',
  minimum: 0,
  description:
    'Remaining time to live in seconds. It decreases while the service has the record in its cache.',
} as const;
const seconds = { type: 'integer', minimum: 0, maximum: 0xffff_ffff } as const;
const domain = (description: string) => ({ type: 'string', description }) as const;

export default defineTool({
  name: 'dns-lookup',
  title: 'DNS lookup',
  description:
    'Looks up one type of DNS record of a domain. Internationalised names are converted (IDNA); labels may ' +
    'contain underscores, begin with a hyphen or be `*`, which is queried literally. A domain that does not exist is `host_not_found`. A domain that exists without a record of ' +
    'the requested type gives `found: false`, even if it is an alias (CNAME) whose target has no such record. Aliases are ' +
    'followed for every type except CNAME, and the records are those of the last name in the chain. A name server that fails ' +
    '(SERVFAIL, REFUSED, a malformed response) is `target_failed`; one that does not respond is `target_timeout`. ' +
    'Names of internal networks (under `.internal`, `.local`, `.localhost`, `.localdomain`, `.home.arpa`, `.corp`, ' +
    '`.home`, `.intranet`, `.lan`, `.private`, `.onion`), aliases of such names, and single-label names, including ' +
    'top-level domains, are `target_refused`. Names in records are lower case without a trailing dot; special ' +
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
        description: 'Domain name of at most 253 characters; not a URL or an IP address.',
      },
      recordType: {
        type: 'string',
        enum: RECORD_TYPES,
        default: 'A',
        description: 'Type of record to look up.',
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
        description: 'The queried name: lower case, internationalised labels as `xn--…`, no trailing dot.',
      },
      recordType: { type: 'string', enum: RECORD_TYPES, description: 'The queried record type.' },
      records: {
        type: 'array',
        description:
          "Matching records in the name server's order; empty if there are none. Their fields depend on the record type.",
        items: {
          anyOf: [
            {
              title: 'Address record',
              type: 'object',
              properties: { address: { type: 'string', description: 'IP address.' }, ttl },
              required: ['address', 'ttl'],
              additionalProperties: false,
            },
            {
              title: 'Mail record',
              type: 'object',
              properties: {
                exchange: domain('Mail server; `.` when the domain does not accept mail (RFC 7505).'),
                priority: {
                  type: 'integer',
                  minimum: 0,
                  maximum: 65_535,
                  description: 'Preference of the mail server; servers with lower values are tried first.',
                },
                ttl,
              },
              required: ['exchange', 'priority', 'ttl'],
              additionalProperties: false,
            },
            {
              title: 'Text record',
              type: 'object',
              properties: {
                text: {
                  type: 'string',
                  description:
                    'The concatenated strings of the record, decoded as UTF-8 if valid, else as Latin-1.',
                },
                chunks: {
                  type: 'array',
                  items: { type: 'string' },
                  description:
                    'The strings of the record, of at most 255 bytes each. A UTF-8 character whose bytes are split between two strings is ' +
                    'contained in the second one.',
                },
                ttl,
              },
              required: ['text', 'chunks', 'ttl'],
              additionalProperties: false,
            },
            {
              title: 'Name record',
              type: 'object',
              properties: { value: domain('Name to which the record points.'), ttl },
              required: ['value', 'ttl'],
              additionalProperties: false,
            },
            {
              title: 'Authority record',
              type: 'object',
              properties: {
                mname: domain('Primary name server of the zone.'),
                rname: domain(
                  'Email address of the administrator, with a dot in place of the @: the first dot that is not escaped.',
                ),
                serial: { ...seconds, description: 'Serial number, which is the version of the zone.' },
                refresh: {
                  ...seconds,
                  description:
                    'Seconds after which secondary name servers check for a new version of the zone.',
                },
                retry: {
                  ...seconds,
                  description: 'Seconds after which secondary name servers retry a failed refresh.',
                },
                expire: {
                  ...seconds,
                  description:
                    'Seconds after which secondary name servers stop answering if every refresh has failed.',
                },
                minimum: {
                  ...seconds,
                  description: 'Maximum time in seconds for which negative responses may be cached.',
                },
                ttl,
              },
              required: ['mname', 'rname', 'serial', 'refresh', 'retry', 'expire', 'minimum', 'ttl'],
              additionalProperties: false,
            },
          ],
        },
      },
      found: {
        type: 'boolean',
        description:
          'Whether there are matching records; false if the name exists but has no record of this type.',
      },
    },
    required: ['hostname', 'recordType', 'records', 'found'],
    additionalProperties: false,
  },
  examples: [
    {
      input: { hostname: 'example.com', recordType: 'MX' },
      output: {
        hostname: 'example.com',
        recordType: 'MX',
        records: [{ exchange: '.', priority: 0, ttl: 300 }],
        found: true,
      },
    },
    {
      input: { hostname: 'example.com', recordType: 'CNAME' },
      output: { hostname: 'example.com', recordType: 'CNAME', records: [], found: false },
    },
  ],
  errors: ['host_not_found', 'target_refused', 'target_failed', 'target_timeout'],
  check({ hostname }) {
    const host = parseQueryName(hostname);
    if (host.kind === 'name') return [];
    const message = host.kind === 'address' ? 'is an IP address; enter a domain name' : host.message;
    return [{ pointer: '/hostname', message }];
  },
});
