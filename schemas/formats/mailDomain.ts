const text = (description: string) => ({ type: ['string', 'null'], description }) as const;
const texts = (description: string) => ({ type: 'array', items: { type: 'string' }, description }) as const;
const count = (description: string) => ({ type: 'integer', minimum: 0, description }) as const;
const countOrNull = (description: string) =>
  ({ type: ['integer', 'null'], minimum: 0, description }) as const;

/** How each part of the report is judged. */
const verdict = {
  valid: {
    type: 'boolean',
    description:
      'Whether the record exists, follows its RFC and can be used: true if and only if `errors` is empty.',
  },
  errors: texts('Errors of this part, one sentence each. A missing record is an error.'),
  warnings: texts('What is allowed but unwise, or will be ignored, one sentence each.'),
} as const;
const VERDICT = ['valid', 'errors', 'warnings'] as const;

const POLICIES = ['none', 'quarantine', 'reject', null] as const;
const policy = (description: string) => ({ type: ['string', 'null'], enum: POLICIES, description }) as const;
const alignment = (description: string) =>
  ({ type: ['string', 'null'], enum: ['relaxed', 'strict', null], description }) as const;

const mx = {
  type: 'object',
  description: 'Mail servers of the domain (MX, RFC 5321 section 5.1, RFC 7505).',
  properties: {
    records: {
      type: 'array',
      description: 'MX records by rising priority.',
      items: {
        type: 'object',
        properties: {
          exchange: { type: 'string', description: 'Mail server; `.` when the domain accepts no mail.' },
          priority: { type: 'integer', minimum: 0, maximum: 65_535, description: 'Lower is tried first.' },
        },
        required: ['exchange', 'priority'],
        additionalProperties: false,
      },
    },
    ...verdict,
  },
  required: ['records', ...VERDICT],
  additionalProperties: false,
} as const;

const spf = {
  type: 'object',
  description:
    'Who may send mail for the domain (SPF, RFC 7208). All terms up to `all` are evaluated, as for a sender that none ' +
    'of them matches; macros that depend on the mail are checked but not expanded.',
  properties: {
    record: text('The record; null if there is none, or more than one.'),
    terms: {
      type: 'array',
      description: 'Mechanisms and modifiers in their order.',
      items: {
        type: 'object',
        properties: {
          kind: { type: 'string', enum: ['mechanism', 'modifier'], description: 'Kind of the term.' },
          name: { type: 'string', description: '`all`, `include`, `a`, `mx`, `ip4`, `redirect`, …' },
          value: text('What follows the name, such as `192.0.2.0/24`; null if nothing does.'),
          result: {
            type: ['string', 'null'],
            enum: ['pass', 'fail', 'softfail', 'neutral', null],
            description: 'Result for senders that the mechanism matches; null for modifiers.',
          },
        },
        required: ['kind', 'name', 'value', 'result'],
        additionalProperties: false,
      },
    },
    all: {
      type: ['string', 'null'],
      enum: ['pass', 'fail', 'softfail', 'neutral', null],
      description:
        'Result for senders that nothing else matches, also by `redirect`; null without a valid record.',
    },
    lookups: countOrNull(
      'Number of terms that need DNS lookups, including those of included records; at most 10 are allowed. Counting stops at the eleventh.',
    ),
    voidLookups: countOrNull('Those of them that found nothing; at most 2 are allowed.'),
    included: {
      type: 'array',
      description: 'Records of `include` and `redirect`, in the order of evaluation.',
      items: {
        type: 'object',
        properties: {
          domain: { type: 'string', description: 'Domain of the record.' },
          record: { type: 'string', description: 'The record.' },
        },
        required: ['domain', 'record'],
        additionalProperties: false,
      },
    },
    ...verdict,
  },
  required: ['record', 'terms', 'all', 'lookups', 'voidLookups', 'included', ...VERDICT],
  additionalProperties: false,
} as const;

const dmarc = {
  type: 'object',
  description:
    'What receivers do with mail that fails authentication (DMARC, RFC 9989, which replaces RFC 7489). Without a record of ' +
    "its own, the domain has that of its organizational domain, found by walking up the domain's parents.",
  properties: {
    record: text('The record that applies; null if there is none.'),
    domain: text('Domain that publishes it: the domain itself or one of its parents.'),
    organizationalDomain: text('Organizational domain; null if the DNS lookup failed.'),
    policy: policy(
      'DMARC policy for mail of this domain: `p` of its own record, or `sp` (else `p`) of the record of a parent domain.',
    ),
    subdomainPolicy: policy(
      'Policy for existing subdomains without a record of their own, from the record of the organizational domain.',
    ),
    nonexistentSubdomainPolicy: policy('The same for subdomains that do not exist.'),
    testing: {
      type: ['boolean', 'null'],
      description: 'Whether receivers are asked not to apply the policy (`t=y`).',
    },
    dkimAlignment: alignment('How the domain of a DKIM signature must match the domain of the From header.'),
    spfAlignment: alignment('How the domain that passed SPF must match the domain of the From header.'),
    aggregateReports: texts('URIs for aggregate reports (`rua`).'),
    failureReports: texts('URIs for reports of single failures (`ruf`).'),
    failureOptions: texts('When failures are reported: `0`, `1`, `d`, `s` (`fo`).'),
    ...verdict,
  },
  required: [
    'record',
    'domain',
    'organizationalDomain',
    'policy',
    'subdomainPolicy',
    'nonexistentSubdomainPolicy',
    'testing',
    'dkimAlignment',
    'spfAlignment',
    'aggregateReports',
    'failureReports',
    'failureOptions',
    ...VERDICT,
  ],
  additionalProperties: false,
} as const;

const mtaSts = {
  type: 'object',
  description:
    'Whether senders must use TLS (MTA-STS, RFC 8461). If there is a record, the policy is requested from ' +
    '`https://mta-sts.<domain>/.well-known/mta-sts.txt`; redirects are not followed and the certificate must be valid.',
  properties: {
    record: text('The TXT record at `_mta-sts.<domain>`; null if there is none, or more than one.'),
    id: text('Version of the policy.'),
    policy: text('The policy as the server sent it; null without one.'),
    mode: {
      type: ['string', 'null'],
      enum: ['enforce', 'testing', 'none', null],
      description: 'What senders do when TLS fails: refuse to deliver, only report it, or nothing.',
    },
    maxAgeSeconds: countOrNull('How long senders may cache the policy.'),
    mx: texts('Mail servers of the policy; `*.` stands for one label.'),
    ...verdict,
  },
  required: ['record', 'id', 'policy', 'mode', 'maxAgeSeconds', 'mx', ...VERDICT],
  additionalProperties: false,
} as const;

const tlsRpt = {
  type: 'object',
  description: 'Where senders report failures of TLS (TLS-RPT, RFC 8460).',
  properties: {
    record: text('The TXT record at `_smtp._tls.<domain>`; null if there is none, or more than one.'),
    reports: texts('URIs for reports (`rua`): `mailto:` or `https:`.'),
    ...verdict,
  },
  required: ['record', 'reports', ...VERDICT],
  additionalProperties: false,
} as const;

const dane = {
  type: 'object',
  description:
    'Certificates that the mail servers announce in DNS (DANE, RFC 7672), for port 25. Valid if each server has a usable ' +
    'record and the answers are authenticated. They are not compared with the certificate of `host`.',
  properties: {
    hosts: {
      type: 'array',
      description: 'The mail servers, or the domain itself when it has no MX record.',
      items: {
        type: 'object',
        properties: {
          host: { type: 'string', description: 'Mail server.' },
          authenticated: {
            type: 'boolean',
            description:
              'Whether the name server of this service reports that it validated the records by DNSSEC. Senders use no others.',
          },
          records: {
            type: 'array',
            description:
              'TLSA records at `_25._tcp.<host>`; of a host that is an alias, those of the name with its addresses come first.',
            items: {
              type: 'object',
              properties: {
                usage: count('Certificate usage; 2 (DANE-TA) and 3 (DANE-EE) are usable for mail.'),
                selector: count('0: the whole certificate, 1: its public key.'),
                matchingType: count('0: as it is, 1: SHA-256, 2: SHA-512.'),
                association: { type: 'string', description: 'Certificate association data, hexadecimal.' },
                usable: { type: 'boolean', description: 'Whether senders can use the record.' },
              },
              required: ['usage', 'selector', 'matchingType', 'association', 'usable'],
              additionalProperties: false,
            },
          },
        },
        required: ['host', 'authenticated', 'records'],
        additionalProperties: false,
      },
    },
    ...verdict,
  },
  required: ['hosts', ...VERDICT],
  additionalProperties: false,
} as const;

/** The part of smtp-test's output that describes the DNS records of a mail domain. */
export const MAIL_DOMAIN = {
  type: ['object', 'null'],
  description:
    'DNS records that the domain publishes for email; null unless `domain` is given. If DNS fails for a part, its `errors` say so.',
  properties: {
    name: {
      type: 'string',
      description: 'The domain: lower case, internationalised labels as `xn--…`, no trailing dot.',
    },
    mx,
    spf,
    dmarc,
    mtaSts,
    tlsRpt,
    dane,
  },
  required: ['name', 'mx', 'spf', 'dmarc', 'mtaSts', 'tlsRpt', 'dane'],
  additionalProperties: false,
} as const;
