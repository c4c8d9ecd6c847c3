import { certificate, issuerCertificate, validity } from '../formats/certificateFields.ts';
import { parseHostPort } from '../formats/hostPort.ts';
import { defineTool } from '../tool.ts';

export const HTTPS_PORT = 443;
/** Time limits of the certificate check and of the cipher scan, in milliseconds. */
export const CHECK_MS = 10_000;
export const SCAN_MS = 25_000;

const leaf = {
  issuer: 'CN=Example CA,O=Example,C=US',
  subject: 'CN=example.com',
  validFrom: '2026-10-05T00:00:00.000Z',
  validTo: '2027-01-02T23:59:59.000Z',
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
    'Opens a TLS connection to a public host and reports the certificate that it presents, whether valid or not. An expired or ' +
    'self-signed certificate, or one for another host, is a result (`chainValid`, `chainError`, `hostnameMatches`), not an ' +
    'error. Versions from TLS 1.0 and weak ciphers are accepted, because the tool reports on the certificate. Host ' +
    'names are sent as SNI, IP addresses are not. A chain with weak signatures (MD5, SHA-1) or RSA keys below 1963 ' +
    'bits, the least that OpenSSL accepts at its default level, is not valid. Revocation is not checked. A host that refuses the connection or does not speak TLS is ' +
    '`target_failed`; one that takes longer than 10 s is `target_timeout`. Nothing is sent after the handshake.\n\n' +
    'With `survey`, a cipher scan follows: up to a few hundred further handshakes determine what the server accepts, at most 4 at the same time. ' +
    'If the server closes the connection or does not answer within 3 s, the handshake is repeated while no other connection ' +
    'is open; if it fails again, the server counts as not accepting it. A scan that takes longer than 25 s is `target_timeout`; a server that stops answering during the scan is ' +
    '`target_failed`. SSL 2.0 and cipher suites that need a shared key or password (PSK, SRP, Kerberos) are not tested. A ' +
    'server that accepts only SSL 3.0, RC4, 3DES or suites without a certificate is `target_failed`, because its ' +
    'certificate cannot be read.\n\n' +
    'The grade of the scan is the worst that applies: F for SSL 3.0 or a cipher suite without encryption or ' +
    'authentication, of export strength, or with RC4, RC2 or DES; C without TLS 1.2 and 1.3, or with 3DES, IDEA or ' +
    'SEED; B for TLS 1.0 or 1.1, without TLS 1.3, or for a suite without forward secrecy; A otherwise, or A+ with a ' +
    'post-quantum key exchange. The certificate does not affect the grade.',
  price: 2,
  pool: 'network',
  // Enough for the certificate check (`CHECK_MS`) and then the cipher scan (`SCAN_MS`).
  limits: { workMs: 36_000 },
  input: {
    type: 'object',
    properties: {
      host: {
        type: 'string',
        minLength: 1,
        // Longest input: a name of 253 characters, a trailing dot and a port.
        maxLength: 260,
        description:
          'Host name or IP address without a scheme, such as `example.com`, followed by the port if it is not 443: ' +
          '`example.com:8443` or `[2001:db8::1]:8443`.',
      },
      survey: {
        type: 'boolean',
        default: false,
        description:
          'Whether to scan the server for the protocol versions, cipher suites, groups and extensions that it accepts. This takes ' +
          'many handshakes, which the server may rate-limit or log.',
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
      ...validity,
      chainValid: {
        type: 'boolean',
        description:
          'Whether the certificate is within its validity period and chains to a trusted root. Whether it matches the host is in `hostnameMatches`.',
      },
      chainError: {
        type: ['string', 'null'],
        description:
          "Verification error of the chain as the name of OpenSSL's X509_V_ERR code: `CERT_HAS_EXPIRED`, `DEPTH_ZERO_SELF_SIGNED_CERT`, " +
          '`SELF_SIGNED_CERT_IN_CHAIN`, `UNABLE_TO_VERIFY_LEAF_SIGNATURE`, `CA_MD_TOO_WEAK`, …; null if the chain is valid.',
      },
      hostnameMatches: {
        type: 'boolean',
        description:
          'Whether a subject alternative name of the certificate matches the host, using the same rules as browsers (RFC 9525); a wildcard ' +
          'also matches a label with underscores.',
      },
      matchedBy: {
        type: ['string', 'null'],
        enum: ['dns-san', 'ip-san', 'common-name', 'partial-wildcard', null],
        description:
          'How the certificate identifies the host: by a DNS name (`dns-san`, including `*.example.com`) or an IP address (`ip-san`) ' +
          'among its subject alternative names; only by its common name (`common-name`), or only by a wildcard within a label ' +
          '(`partial-wildcard`, such as `w*.example.com`). Older clients accept the last two, but `hostnameMatches` is then false. Null if the certificate does not identify the host.',
      },
      protocol: { type: 'string', description: 'Negotiated protocol version: `TLSv1` to `TLSv1.3`.' },
      chain: {
        type: 'array',
        description:
          'Issuer certificates presented by the server, each of which signed the previous certificate. An ' +
          'omitted trusted root is added. Issuers that are not permitted to sign certificates are also listed; `chainError` then has the reason.',
        items: issuerCertificate,
      },
      chainTruncated: {
        type: 'boolean',
        description:
          'Whether the server presented more than 100 certificates. Only the first 100 are then listed.',
      },
      survey: {
        type: ['object', 'null'],
        description:
          'The protocol versions, cipher suites and key exchanges that the server accepts; null unless `survey` is true.',
        properties: {
          grade: {
            type: 'string',
            enum: ['A+', 'A', 'B', 'C', 'F'],
            description:
              'Grade of the accepted protocol versions, cipher suites and key exchanges. The description of the tool has the rules.',
          },
          protocols: {
            type: 'array',
            description: 'Accepted protocol versions from SSL 3.0 to TLS 1.3, oldest first.',
            items: {
              type: 'object',
              properties: {
                version: {
                  type: 'string',
                  enum: ['SSLv3', 'TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'],
                  description: 'Protocol version.',
                },
                cipherSuites: {
                  type: 'array',
                  items: { type: 'string' },
                  description:
                    'IANA names of the accepted cipher suites, in the order in which the server chose them. Suites that few servers accept are offered separately and come last.',
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
              'IANA names of the accepted key exchange groups, those of TLS 1.3 first: for TLS 1.3 all groups, for older versions only elliptic curves.',
          },
          postQuantum: {
            type: 'boolean',
            description:
              'Whether the server accepts a post-quantum key exchange group, such as `X25519MLKEM768`.',
          },
          alpn: {
            type: 'array',
            items: { type: 'string', enum: ['h2', 'http/1.1'] },
            description: 'Application protocols that the server accepts by ALPN.',
          },
          ocspStapling: {
            type: 'boolean',
            description: 'Whether the server staples an OCSP response to its certificate.',
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
      'lifetimeDays',
      'renewalDue',
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
      input: { host: 'example.com:443' },
      output: {
        host: 'example.com',
        ...leaf,
        daysRemaining: 9,
        lifetimeDays: 90,
        renewalDue: true,
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
