import { parseHost } from '../formats/hostname.ts';
import { defineTool } from '../tool.ts';

const RECORD_TYPES = ['A', 'AAAA', 'MX', 'TXT', 'NS', 'CNAME', 'SOA'] as const;

const ttl = {
  type: 'integer',
  minimum: 0,
  description: 'Seconds for which the record may be kept; counts down while we keep it.',
} as const;
const seconds = { type: 'integer', minimum: 0, maximum: 0xffff_ffff } as const;
const domain = (description: string) => ({ type: 'string', description }) as const;

export default defineTool({
  name: 'dns-lookup',
  title: 'DNS lookup',
  description:
    'Resolves one type of DNS record of a domain. Internationalised names are converted (IDNA), labels may begin with ' +
    'an underscore. A domain that does not exist is `host_not_found`; one that exists without a record of the type ' +
    'answers `found: false`, also when it is an alias whose target has none. Aliases (CNAME) are followed for every ' +
    'type but CNAME itself, and the records are those at their end. A name server that fails (SERVFAIL, a broken or a ' +
    'refused answer) is `target_failed`, one that stays silent is `target_timeout`. Names of internal networks (under ' +
    '`.internal`, `.local`, `.localhost`, `.localdomain`, `.home.arpa`, `.corp`, `.home`, `.intranet`, `.lan`, ' +
    '`.private`, `.onion`), aliases of them, and names of a single label, ' +
    'top-level domains included, are `target_refused`. Names in records are lower case and without a trailing dot; ' +
    'characters that are no letter of a name are written as in master files (`\\.`, `\\032`). Answers are cached for as ' +
    'long as they allow, at most 300 s, those that something does not exist included.',
  price: 1,
  pool: 'network',
  limits: { workMs: 10_000 },
  input: {
    type: 'object',
    properties: {
      hostname: {
        type: 'string',
        minLength: 1,
        // One more than a name may have, for a trailing dot.
        maxLength: 254,
        description:
          'Domain to resolve, without a scheme, at most 253 characters; neither a URL nor an IP address.',
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
        description:
          'Name that was asked for: lower case, internationalised labels as `xn--…`, no trailing dot.',
      },
      recordType: { type: 'string', enum: RECORD_TYPES, description: 'Type that was asked for.' },
      records: {
        type: 'array',
        description:
          "Matching records in the name server's order; empty when there are none. Their shape depends on the type.",
        items: {
          anyOf: [
            {
              title: 'A, AAAA',
              type: 'object',
              properties: { address: { type: 'string', description: 'IP address.' }, ttl },
              required: ['address', 'ttl'],
              additionalProperties: false,
            },
            {
              title: 'MX',
              type: 'object',
              properties: {
                exchange: domain('Mail server; `.` when the domain takes no mail (RFC 7505).'),
                priority: {
                  type: 'integer',
                  minimum: 0,
                  maximum: 65_535,
                  description: 'Lower is tried first.',
                },
                ttl,
              },
              required: ['exchange', 'priority', 'ttl'],
              additionalProperties: false,
            },
            {
              title: 'TXT',
              type: 'object',
              properties: {
                text: {
                  type: 'string',
                  description: 'The chunks joined: as UTF-8 where they are that, else as Latin-1.',
                },
                chunks: {
                  type: 'array',
                  items: { type: 'string' },
                  description: 'The strings of at most 255 bytes that the record is made of.',
                },
                ttl,
              },
              required: ['text', 'chunks', 'ttl'],
              additionalProperties: false,
            },
            {
              title: 'NS, CNAME',
              type: 'object',
              properties: { value: domain('Name the record points to.'), ttl },
              required: ['value', 'ttl'],
              additionalProperties: false,
            },
            {
              title: 'SOA',
              type: 'object',
              properties: {
                mname: domain('Primary name server.'),
                rname: domain('Mailbox of who is responsible; the first dot that has no backslash is the @.'),
                serial: { ...seconds, description: 'Version of the zone.' },
                refresh: { ...seconds, description: 'Seconds until secondaries ask for a newer version.' },
                retry: { ...seconds, description: 'Seconds until they ask again when that failed.' },
                expire: { ...seconds, description: 'Seconds until they stop answering without one.' },
                minimum: { ...seconds, description: 'Seconds that negative answers may be kept at most.' },
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
        description: 'False when the name exists but has no record of this type.',
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
    const host = parseHost(hostname);
    if (host.kind === 'name') return [];
    const message = host.kind === 'address' ? 'is an IP address; give the name of a domain' : host.message;
    return [{ pointer: '/hostname', message }];
  },
});
