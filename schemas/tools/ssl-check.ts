import { parseHostPort } from '../formats/hostPort.ts';
import { defineTool } from '../tool.ts';

export const HTTPS_PORT = 443;
/** Time of the check and of the survey, in milliseconds. */
export const CHECK_MS = 10_000;
export const SURVEY_MS = 25_000;

const certificate = {
  issuer: {
    type: 'string',
    description:
      "Distinguished name of the issuer as in RFC 4514, `CN=R11,O=Let's Encrypt,C=US`; values of unknown types as `1.2.3.4=#0C0141`.",
  },
  subject: {
    type: 'string',
    description: 'Distinguished name of the subject in the same format; may be empty.',
  },
  validFrom: { type: 'string', format: 'date-time', description: 'Start of validity, ISO 8601.' },
  validTo: { type: 'string', format: 'date-time', description: 'End of validity, ISO 8601.' },
  serialNumber: { type: 'string', description: 'Serial number, hexadecimal.' },
  fingerprint256: {
    type: 'string',
    description: 'SHA-256 of the certificate, as hexadecimal bytes separated by colons.',
  },
} as const;

const leaf = {
  issuer: 'CN=Example CA,O=Example,C=US',
  subject: 'CN=example.com',
  validFrom: '2026-01-15T00:00:00.000Z',
  validTo: '2027-01-15T23:59:59.000Z',
  serialNumber: '0AD893BAFA68B0B7FB7A404F06ECAF9A',
  fingerprint256:
    '45:5E:FA:0B:D8:2A:26:6E:65:C8:7C:22:E4:46:7E:4A:A6:F4:65:BA:E3:01:B1:2C:4B:2F:D5:50:85:E0:6D:D0',
};
const root = {
  issuer: 'CN=Example CA,O=Example,C=US',
  subject: 'CN=Example CA,O=Example,C=US',
  validFrom: '2020-01-01T00:00:00.000Z',
  validTo: '2040-01-01T00:00:00.000Z',
  serialNumber: '33AF1E6A711A9A0BB2864B11D09FAE5E',
  fingerprint256:
    'CB:3C:CB:B7:60:31:E5:E0:13:8F:8D:D3:9A:23:F9:DE:47:FF:C3:5E:43:C1:14:4C:EA:27:D4:6A:5A:B1:CB:5F',
};

export default defineTool({
  name: 'ssl-check',
  title: 'TLS certificate check',
  description:
    'Opens a TLS connection to a public host and reports the certificate that it presents, valid or not. An expired, ' +
    'self-signed or wrongly named certificate is a result (`chainValid`, `chainError`, `hostnameMatches`), not an ' +
    'error. Versions from TLS 1.0 and weak ciphers are accepted, because the tool reports on the certificate. Host ' +
    'names are sent as SNI, IP addresses are not. A chain with weak signatures (MD5, SHA-1) or RSA keys below 2048 ' +
    'bits is not valid. Revocation is not checked. A host that refuses the connection or does not speak TLS is ' +
    '`target_failed`; one that takes longer than 10 s is `target_timeout`. Nothing is sent after the handshake. With ' +
    '`survey`, up to some hundred further handshakes find out what the server accepts, in at most 25 s.\n\n' +
    'Grades of the survey, the worst that applies: F for SSL 3.0 or a cipher suite without encryption or ' +
    'authentication, of export strength, or with RC4, RC2 or DES; C without TLS 1.2 and 1.3, or with 3DES, IDEA or ' +
    'SEED; B for TLS 1.0 or 1.1, without TLS 1.3, or for a suite without forward secrecy; A for the rest, A+ with a ' +
    'post-quantum key exchange. The certificate does not count.',
  price: 2,
  pool: 'network',
  // A check has 10 s of it (CHECK_MS), a survey the rest.
  limits: { workMs: 36_000 },
  input: {
    type: 'object',
    properties: {
      host: {
        type: 'string',
        minLength: 1,
        // 253 characters, a trailing dot and a port.
        maxLength: 260,
        description:
          'Host name or IP address without a scheme, such as `example.com`; with a port unless it is 443, ' +
          '`example.com:8443`, `[2001:db8::1]:8443`.',
      },
      survey: {
        type: 'boolean',
        default: false,
        description:
          'Whether to find out which protocol versions, cipher suites, groups and extensions the server accepts. It sends ' +
          'many handshakes, which the server may limit or log.',
      },
    },
    required: ['host'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      host: {
        type: 'string',
        description: 'The checked host: lower case, internationalised labels as `xn--…`, without the port.',
      },
      ...certificate,
      daysRemaining: {
        type: 'integer',
        description: 'Whole days until the certificate expires, rounded down; negative when it has expired.',
      },
      subjectAlternativeNames: {
        type: 'array',
        items: { type: 'string' },
        description: 'All DNS names and IP addresses of the certificate, in its order.',
      },
      chainValid: {
        type: 'boolean',
        description:
          'Whether the certificate is within its validity period and chains to a trusted root. The host name is not considered.',
      },
      chainError: {
        type: ['string', 'null'],
        description:
          "Verification error, as OpenSSL's X509_V_ERR name: `CERT_HAS_EXPIRED`, `DEPTH_ZERO_SELF_SIGNED_CERT`, " +
          '`SELF_SIGNED_CERT_IN_CHAIN`, `UNABLE_TO_VERIFY_LEAF_SIGNATURE`, `CA_MD_TOO_WEAK`, …; null if valid.',
      },
      hostnameMatches: {
        type: 'boolean',
        description:
          'Whether the certificate names the host in its alternative names, by the rules of browsers (RFC 9525).',
      },
      matchedBy: {
        type: ['string', 'null'],
        enum: ['dns-san', 'ip-san', 'common-name', 'partial-wildcard', null],
        description:
          'How the certificate names the host: by a DNS name (`dns-san`, also `*.example.com`) or an address (`ip-san`) ' +
          'of its alternative names. Only by its common name (`common-name`) or by a wildcard within a label ' +
          '(`partial-wildcard`, `w*.example.com`), which older clients accept but `hostnameMatches` does not; null if not at all.',
      },
      protocol: { type: 'string', description: 'Negotiated version: `TLSv1` to `TLSv1.3`.' },
      chain: {
        type: 'array',
        description:
          'Issuers of the certificate, each of which signed the previous one, as presented by the server; an ' +
          'omitted trusted root is added. Issuers that may not sign certificates are listed too; `chainError` says so.',
        items: {
          type: 'object',
          properties: certificate,
          required: ['issuer', 'subject', 'validFrom', 'validTo', 'serialNumber', 'fingerprint256'],
          additionalProperties: false,
        },
      },
      chainTruncated: {
        type: 'boolean',
        description:
          'Whether the server presented more than 100 certificates, of which the rest are not listed.',
      },
      survey: {
        type: ['object', 'null'],
        description:
          'The protocol versions, cipher suites and key exchanges that the server accepts; null unless `survey` is true.',
        properties: {
          grade: {
            type: 'string',
            enum: ['A+', 'A', 'B', 'C', 'F'],
            description: 'Summary by the rules in the description of the tool.',
          },
          protocols: {
            type: 'array',
            description: 'Accepted versions from SSL 3.0 to TLS 1.3, oldest first.',
            items: {
              type: 'object',
              properties: {
                version: {
                  type: 'string',
                  enum: ['SSLv3', 'TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'],
                  description: 'Version.',
                },
                cipherSuites: {
                  type: 'array',
                  items: { type: 'string' },
                  description:
                    'IANA names of the accepted cipher suites, in the order in which the server chose them.',
                },
              },
              required: ['version', 'cipherSuites'],
              additionalProperties: false,
            },
          },
          groups: {
            type: 'array',
            items: { type: 'string' },
            description:
              'IANA names of the accepted curves and other groups: all of TLS 1.3, those of elliptic curves in older versions.',
          },
          postQuantum: {
            type: 'boolean',
            description: 'Whether a group is secure against quantum computers, such as `X25519MLKEM768`.',
          },
          alpn: {
            type: 'array',
            items: { type: 'string', enum: ['h2', 'http/1.1'] },
            description: 'Protocols that the server agrees to by ALPN.',
          },
          ocspStapling: {
            type: 'boolean',
            description: 'Whether the server sends an OCSP response with its certificate.',
          },
        },
        required: ['grade', 'protocols', 'groups', 'postQuantum', 'alpn', 'ocspStapling'],
        additionalProperties: false,
      },
    },
    required: [
      'host',
      'issuer',
      'subject',
      'validFrom',
      'validTo',
      'serialNumber',
      'fingerprint256',
      'daysRemaining',
      'subjectAlternativeNames',
      'chainValid',
      'chainError',
      'hostnameMatches',
      'matchedBy',
      'protocol',
      'chain',
      'chainTruncated',
      'survey',
    ],
    additionalProperties: false,
  },
  examples: [
    {
      input: { host: 'example.com:8443' },
      output: {
        host: 'example.com',
        ...leaf,
        daysRemaining: 55,
        subjectAlternativeNames: ['example.com', 'www.example.com'],
        chainValid: true,
        chainError: null,
        hostnameMatches: true,
        matchedBy: 'dns-san',
        protocol: 'TLSv1.3',
        chain: [root],
        chainTruncated: false,
        survey: null,
      },
    },
  ],
  errors: ['host_not_found', 'target_refused', 'target_failed', 'target_timeout'],
  check({ host }) {
    const parsed = parseHostPort(host, HTTPS_PORT);
    return parsed.kind === 'invalid' ? [{ pointer: '/host', message: parsed.message }] : [];
  },
});
