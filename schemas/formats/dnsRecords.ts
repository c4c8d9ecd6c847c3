/** Types of records that dns-lookup offers. */
export const RECORD_TYPES = [
  ...(['A', 'AAAA', 'MX', 'TXT', 'NS', 'CNAME', 'SOA'] as const),
  ...(['HTTPS', 'SVCB', 'CAA', 'TLSA', 'SRV', 'PTR', 'DS', 'DNSKEY'] as const),
] as const;

const ttl = {
  type: 'integer',
  minimum: 0,
  description:
    'Remaining time to live in seconds. It decreases while the service has the record in its cache.',
} as const;
const seconds = { type: 'integer', minimum: 0, maximum: 0xffff_ffff } as const;
const domain = (description: string) => ({ type: 'string', description }) as const;
const byte = (description: string) => ({ type: 'integer', minimum: 0, maximum: 255, description }) as const;
const short = (description: string) =>
  ({ type: 'integer', minimum: 0, maximum: 65_535, description }) as const;
const algorithm = byte('Number of the DNSSEC algorithm, such as 13 for ECDSA P-256 with SHA-256.');
const keyTag = short('Key tag, by which DS and RRSIG records name the key.');

/** The fields of a record, by type. */
export const RECORD = {
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
        priority: short('Preference of the mail server; servers with lower values are tried first.'),
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
          description: 'The concatenated strings of the record, decoded as UTF-8 if valid, else as Latin-1.',
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
      properties: { value: domain('Name to which the record points (NS, CNAME, PTR).'), ttl },
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
          description: 'Seconds after which secondary name servers check for a new version of the zone.',
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
    {
      title: 'Service record',
      type: 'object',
      properties: {
        priority: short('Servers with lower values are tried first.'),
        weight: short('Share of the server among those of equal priority.'),
        port: short('Port of the service.'),
        target: domain('Host of the service; `.` when the service is not offered (RFC 2782).'),
        ttl,
      },
      required: ['priority', 'weight', 'port', 'target', 'ttl'],
      additionalProperties: false,
    },
    {
      title: 'Service binding record',
      type: 'object',
      properties: {
        priority: short('0 for an alias of `target`; otherwise, lower values are preferred.'),
        target: domain('Host of the service; `.` for the owner of the record (RFC 9460 section 2.5).'),
        params: {
          type: 'object',
          additionalProperties: { type: 'array', items: { type: 'string' } },
          description:
            'The values of each parameter, by its name: `alpn`, `port`, `ipv4hint`, `ipv6hint`, `mandatory`, `dohpath`, …; none for ' +
            '`no-default-alpn` and `ohttp`. `ech` and parameters without a name (`key65400`) are in base64.',
        },
        ttl,
      },
      required: ['priority', 'target', 'params', 'ttl'],
      additionalProperties: false,
    },
    {
      title: 'Certification authority record',
      type: 'object',
      properties: {
        critical: {
          type: 'boolean',
          description:
            'Whether an authority that does not know the tag must not issue certificates (RFC 8659).',
        },
        flags: byte('All flags as a number; 128 is the critical flag.'),
        tag: { type: 'string', description: 'Tag, such as `issue`, `issuewild`, `issuemail` or `iodef`.' },
        value: { type: 'string', description: 'Value, such as `letsencrypt.org`; `;` permits no authority.' },
        ttl,
      },
      required: ['critical', 'flags', 'tag', 'value', 'ttl'],
      additionalProperties: false,
    },
    {
      title: 'Certificate association record',
      type: 'object',
      properties: {
        usage: byte('Certificate usage: 0 PKIX-TA, 1 PKIX-EE, 2 DANE-TA, 3 DANE-EE.'),
        selector: byte('What is compared: 0 the certificate, 1 its public key.'),
        matchingType: byte('How it is compared: 0 as it is, 1 by SHA-256, 2 by SHA-512.'),
        data: { type: 'string', description: 'Data to compare, in lower-case hexadecimal.' },
        ttl,
      },
      required: ['usage', 'selector', 'matchingType', 'data', 'ttl'],
      additionalProperties: false,
    },
    {
      title: 'Delegation record',
      type: 'object',
      properties: {
        keyTag,
        algorithm,
        digestType: byte('Number of the digest: 1 SHA-1, 2 SHA-256, 4 SHA-384.'),
        digest: { type: 'string', description: 'Digest of the key, in lower-case hexadecimal.' },
        ttl,
      },
      required: ['keyTag', 'algorithm', 'digestType', 'digest', 'ttl'],
      additionalProperties: false,
    },
    {
      title: 'Key record',
      type: 'object',
      properties: {
        flags: short('Flags: 256 for a zone key, 257 for one that is a secure entry point.'),
        protocol: byte('Always 3.'),
        algorithm,
        publicKey: { type: 'string', description: 'Public key in base64.' },
        keyTag,
        ttl,
      },
      required: ['flags', 'protocol', 'algorithm', 'publicKey', 'keyTag', 'ttl'],
      additionalProperties: false,
    },
  ],
} as const;
