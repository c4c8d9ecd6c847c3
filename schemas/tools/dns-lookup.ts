import { parseQueryName } from '../formats/hostname.ts';
import { defineTool } from '../tool.ts';

const RECORD_TYPES = ['A', 'AAAA', 'MX', 'TXT', 'NS', 'CNAME', 'SOA'] as const;

const ttl = {
  type: 'integer',
  minimum: 0,
  description: 'Remaining lifetime in seconds; it counts down while the record is cached here.',
} as const;
const seconds = { type: 'integer', minimum: 0, maximum: 0xffff_ffff } as const;
const domain = (description: string) => ({ type: 'string', description }) as const;

export default defineTool({
  name: 'dns-lookup',
  title: 'DNS lookup',
  description:
    'Looks up one type of DNS record of a domain. Internationalised names are converted (IDNA); labels may ' +
    'contain underscores, begin with a hyphen or be `*`, which is asked for as it is. A domain that does not exist is `host_not_found`. A domain that exists without a record of ' +
    'the type returns `found: false`, also when it is an alias whose target has no such record. Aliases (CNAME) are ' +
    'followed for every type except CNAME, and the records are those of the last name. A name server that fails ' +
    '(SERVFAIL, a malformed or refused answer) is `target_failed`; one that does not answer is `target_timeout`. ' +
    'Names of internal networks (under `.internal`, `.local`, `.localhost`, `.localdomain`, `.home.arpa`, `.corp`, ' +
    '`.home`, `.intranet`, `.lan`, `.private`, `.onion`), aliases of such names, and single-label names, including ' +
    'top-level domains, are `target_refused`. Names in records are lower case without a trailing dot; special ' +
    'characters are escaped as in zone files (`\\.`, `\\032`). Answers are cached as long as their TTL allows, at ' +
    'most 300 s, including negative answers.',
  price: 1,
  pool: 'network',
  limits: { workMs: 10_000 },
  input: {
    type: 'object',
    properties: {
      hostname: {
        type: 'string',
        minLength: 1,
        // 253 characters and a trailing dot.
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
      recordType: { type: 'string', enum: RECORD_TYPES, description: 'The queried type.' },
      records: {
        type: 'array',
        description:
          "Matching records in the name server's order; empty when there are none. Their shape depends on the type.",
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
                  description: 'Lower values are tried first.',
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
                  description: 'The joined chunks, decoded as UTF-8 if valid, else as Latin-1.',
                },
                chunks: {
                  type: 'array',
                  items: { type: 'string' },
                  description:
                    'The strings of the record, of at most 255 bytes each. A character whose bytes are split between strings is ' +
                    'whole in the string where it ends.',
                },
                ttl,
              },
              required: ['text', 'chunks', 'ttl'],
              additionalProperties: false,
            },
            {
              title: 'Name record',
              type: 'object',
              properties: { value: domain('Name the record points to.'), ttl },
              required: ['value', 'ttl'],
              additionalProperties: false,
            },
            {
              title: 'Authority record',
              type: 'object',
              properties: {
                mname: domain('Primary name server.'),
                rname: domain('Mailbox of the administrator; the first unescaped dot stands for the @.'),
                serial: { ...seconds, description: 'Version of the zone.' },
                refresh: {
                  ...seconds,
                  description: 'Seconds until secondary servers check for a newer version.',
                },
                retry: {
                  ...seconds,
                  description: 'Seconds after which secondary name servers retry a failed refresh.',
                },
                expire: {
                  ...seconds,
                  description: 'Seconds after which they stop answering when checks keep failing.',
                },
                minimum: {
                  ...seconds,
                  description: 'Longest time that negative answers may be cached, in seconds.',
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
    const host = parseQueryName(hostname);
    if (host.kind === 'name') return [];
    const message = host.kind === 'address' ? 'is an IP address; enter a domain name' : host.message;
    return [{ pointer: '/hostname', message }];
  },
});
