/** Output fields that describe a certificate. */
export const certificate = {
  issuer: {
    type: 'string',
    description:
      "Distinguished name of the issuer in the format of RFC 4514, such as `CN=R11,O=Let's Encrypt,C=US`; attributes of unknown types look like `1.2.3.4=#0C0141`.",
  },
  subject: {
    type: 'string',
    description: 'Distinguished name of the subject in the format of RFC 4514; may be empty.',
  },
  validFrom: { type: 'string', format: 'date-time', description: 'Start of the validity period, ISO 8601.' },
  validTo: { type: 'string', format: 'date-time', description: 'End of the validity period, ISO 8601.' },
  serialNumber: { type: 'string', description: 'Serial number in hexadecimal.' },
  fingerprint256: {
    type: 'string',
    description: 'SHA-256 fingerprint of the certificate, as hexadecimal bytes separated by colons.',
  },
} as const;

/** Output fields that describe a server's own certificate in addition. */
export const validity = {
  daysRemaining: {
    type: 'integer',
    description: 'Whole days until the certificate expires, rounded down; negative when it has expired.',
  },
  lifetimeDays: {
    type: 'integer',
    description:
      'Whole days from `validFrom` to `validTo`, such as 90, 47 or 6. A certificate whose last second is 23:59:59 counts its last day.',
  },
  renewalDue: {
    type: 'boolean',
    description:
      'Whether the certificate should have been renewed by now, by its own lifetime: less than a third of it remains, or less than half ' +
      'of a lifetime below 10 days, the times at which ACME clients renew; also true when it has expired.',
  },
  subjectAlternativeNames: {
    type: 'array',
    items: { type: 'string' },
    description:
      'All DNS names and IP addresses in the subject alternative names, in the order of the certificate.',
  },
} as const;

/** The certificate of an issuer. */
export const issuerCertificate = {
  type: 'object',
  properties: certificate,
  required: ['issuer', 'subject', 'validFrom', 'validTo', 'serialNumber', 'fingerprint256'],
  additionalProperties: false,
} as const;
