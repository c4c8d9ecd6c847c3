import type { Fault } from '../errors.ts';
import { parseHost } from '../formats/hostname.ts';
import { MAIL_DOMAIN } from '../formats/mailDomain.ts';
import { defineTool } from '../tool.ts';

const PORTS = [25, 465, 587, 2525] as const;

/** Supported SASL mechanisms, in the order of preference over a TLS connection. */
export const MECHANISMS = ['PLAIN', 'LOGIN', 'CRAM-MD5', 'XOAUTH2'] as const;
export type Mechanism = (typeof MECHANISMS)[number];

/**
 * Control characters, which SASLprep forbids (RFC 4013 section 2.3) and which PLAIN and XOAUTH2 use as field
 * separators.
 */
const CONTROL = /\p{Cc}/u;

function credentialFaults(pointer: string, text: string | undefined, other: string | undefined): Fault[] {
  if (text === undefined)
    return other === undefined
      ? []
      : [{ pointer, message: 'is required: username and password must be given together' }];
  return CONTROL.test(text) ? [{ pointer, message: 'contains a control character' }] : [];
}

export default defineTool({
  name: 'smtp-test',
  title: 'SMTP server test',
  description:
    'Tests a mail server up to the point where a client would send mail: connection, banner, EHLO, STARTTLS, EHLO ' +
    'again, AUTH if credentials are given, then QUIT. No mail is sent. `steps` is the complete conversation with ' +
    'timing. After the banner, every behaviour of the server is a result and reported in its step: a banner of 421 ' +
    'or 554, a refused STARTTLS, a failed handshake, a wrong password, a missing reply, or a reply that violates the ' +
    'protocol (a line above 12 KB, more than 100 lines, more than 256 KB in all). Before that, a refused connection, ' +
    'a failed handshake of implicit TLS, and anything other than an SMTP banner are `target_failed`; a server that ' +
    'does not answer is `target_timeout`. Connecting and each step may take 10 s, the whole call 30 s. An invalid ' +
    'certificate is reported and the session continues. Credentials are sent over TLS only, or in clear text if you ' +
    'request `encryption: none`. They are not sent if STARTTLS is not offered or fails, or if plaintext ' +
    'follows the reply to STARTTLS. AUTH is sent at most once and is not cancelled when the caller disconnects. ' +
    'Credentials that the server echoes since AUTH, in plain text or encoded, are replaced by `***`.\n\n' +
    'With `domain`, the DNS records with which a domain announces its mail servers and senders are checked before the ' +
    'server is connected to, within 12 s of the 30 s: MX, SPF, DMARC, MTA-STS, TLS-RPT and DANE. The rules of `dns-lookup` ' +
    'for names of internal networks apply to each name in the records. The report is part of the result of the server ' +
    'test: there is none if the call fails.',
  price: 3,
  pool: 'network',
  limits: { workMs: 30_000 },
  input: {
    type: 'object',
    properties: {
      host: {
        type: 'string',
        minLength: 1,
        // Longest name: 253 characters and a trailing dot.
        maxLength: 254,
        description: 'Host name or IP address of the mail server, without a port.',
      },
      port: {
        type: 'integer',
        enum: PORTS,
        default: 587,
        description: 'Port of the mail server: 25, 465, 587 or 2525.',
      },
      encryption: {
        type: 'string',
        enum: ['starttls', 'ssl', 'none'],
        default: 'starttls',
        description:
          '`starttls` upgrades the connection to TLS if the server offers STARTTLS, `ssl` uses TLS from the start, `none` uses ' +
          'no TLS. On port 465, TLS is always used from the start (implicit TLS), regardless of this field.',
      },
      username: {
        type: 'string',
        minLength: 1,
        maxLength: 512,
        writeOnly: true,
        description: 'User name for AUTH, which is tested if credentials are given. Used once, never stored.',
      },
      password: {
        type: 'string',
        minLength: 1,
        // Leaves room for access tokens; RFC 4954 section 4 allows base64 lines of 12,288 octets.
        maxLength: 8192,
        writeOnly: true,
        description:
          'Password for AUTH, or the access token for XOAUTH2; required with `username`. Used once, never stored.',
      },
      authMechanism: {
        type: 'string',
        enum: MECHANISMS,
        description:
          'Authentication mechanism. Default: the first of PLAIN, LOGIN, CRAM-MD5 and XOAUTH2 that the server ' +
          'offers; with `encryption: none` CRAM-MD5 is preferred, because it does not expose the password. Only one mechanism ' +
          'is tried.',
      },
      domain: {
        type: 'string',
        minLength: 1,
        maxLength: 254,
        description:
          'Mail domain to report on, the part of an address after the @, such as `example.com`. Without it there is no report.',
      },
    },
    required: ['host'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      encryption: {
        type: 'string',
        enum: ['starttls', 'implicit-tls', 'none'],
        description: 'Encryption of the session: `starttls`, `implicit-tls` or `none`.',
      },
      authAttempted: {
        type: 'boolean',
        description:
          'Whether credentials were supplied. If they were sent, the `auth` step has a command; otherwise its reply says why ' +
          'not. There is no `auth` step if the conversation ended earlier.',
      },
      authSucceeded: {
        type: 'boolean',
        description: 'Whether the server accepted the credentials; false if they were not sent.',
      },
      certificateSubject: {
        type: ['string', 'null'],
        description:
          'Subject of the TLS certificate in the format of RFC 4514, such as `CN=mail.example.com`; may be empty; null without TLS.',
      },
      certificateIssuer: {
        type: ['string', 'null'],
        description: 'Issuer of the TLS certificate in the format of RFC 4514; null without TLS.',
      },
      certificateExpiresUtc: {
        type: ['string', 'null'],
        format: 'date-time',
        description: 'When the TLS certificate expires (UTC, ISO 8601); null without TLS.',
      },
      certificateValid: {
        type: ['boolean', 'null'],
        description:
          'Whether the certificate is within its validity period, chains to a trusted root and matches the host by the rules of `ssl-check` (RFC 9525); null without TLS.',
      },
      certificateError: {
        type: ['string', 'null'],
        description:
          "Verification error of an invalid certificate: the name of OpenSSL's X509_V_ERR code (`CERT_HAS_EXPIRED`, " +
          '`DEPTH_ZERO_SELF_SIGNED_CERT`, …) or `ERR_TLS_CERT_ALTNAME_INVALID` for a host mismatch; otherwise null.',
      },
      extensions: {
        type: 'array',
        items: { type: 'string' },
        description:
          'Extensions in the reply to the last EHLO, each with its parameters, such as `SIZE 35882577`; after STARTTLS those of the ' +
          'encrypted session. Empty if EHLO was refused.',
      },
      authMechanisms: {
        type: 'array',
        items: { type: 'string' },
        description: 'Advertised AUTH mechanisms in upper case. Many servers advertise none before STARTTLS.',
      },
      domain: MAIL_DOMAIN,
      flags: {
        type: 'array',
        items: { type: 'string', enum: ['starttls_injection', 'early_reply'] },
        description:
          'Detected weaknesses. `starttls_injection`: the server sent plaintext after its reply to STARTTLS, which a client may ' +
          'wrongly read as part of the encrypted session; this tool discards it. `early_reply`: the server sent replies before the command was sent; they ' +
          'are in a step `unsolicited` and are not treated as the reply to the command.',
      },
      steps: {
        type: 'array',
        description: 'The steps of the conversation in order, each with its reply and duration.',
        items: {
          type: 'object',
          properties: {
            step: {
              type: 'string',
              enum: ['connect', 'tls', 'banner', 'ehlo', 'helo', 'starttls', 'auth', 'quit', 'unsolicited'],
              description:
                'Kind of step. `helo` follows if the server refuses EHLO; AUTH can take several steps; ' +
                '`unsolicited` has replies that belong to no command, and its duration is 0.',
            },
            command: {
              type: ['string', 'null'],
              description:
                'The line that was sent, with credentials replaced by `***`; null if no line was sent, as for `connect`, `tls` and `banner`.',
            },
            reply: {
              type: ['string', 'null'],
              description:
                'Reply of the server, with lines separated by line feeds, text that is not UTF-8 read as Latin-1, and ' +
                'control characters replaced by U+FFFD. If `code` is null, a description of what happened, or the TLS ' +
                'version and cipher suite.',
            },
            code: { type: ['integer', 'null'], description: 'SMTP reply code; null if there was no reply.' },
            ms: {
              type: 'integer',
              minimum: 0,
              description:
                'Duration of the step in milliseconds. For the step `connect`, this excludes the DNS lookup.',
            },
            ok: {
              type: 'boolean',
              description:
                'Whether the step succeeded. A step can succeed even if the certificate is invalid.',
            },
          },
          required: ['step', 'command', 'reply', 'code', 'ms', 'ok'],
          additionalProperties: false,
        },
      },
    },
    required: [
      'encryption',
      'authAttempted',
      'authSucceeded',
      'certificateSubject',
      'certificateIssuer',
      'certificateExpiresUtc',
      'certificateValid',
      'certificateError',
      'extensions',
      'authMechanisms',
      'domain',
      'flags',
      'steps',
    ],
    additionalProperties: false,
  },
  examples: [
    {
      input: { host: 'mail.example.com', port: 2525, encryption: 'none' },
      output: {
        encryption: 'none',
        authAttempted: false,
        authSucceeded: false,
        certificateSubject: null,
        certificateIssuer: null,
        certificateExpiresUtc: null,
        certificateValid: null,
        certificateError: null,
        extensions: ['PIPELINING', 'AUTH PLAIN LOGIN'],
        authMechanisms: ['PLAIN', 'LOGIN'],
        domain: null,
        flags: [],
        steps: [
          { step: 'connect', command: null, reply: null, code: null, ms: 12, ok: true },
          {
            step: 'banner',
            command: null,
            reply: '220 mail.example.com ESMTP',
            code: 220,
            ms: 9,
            ok: true,
          },
          {
            step: 'ehlo',
            command: 'EHLO [127.0.0.1]',
            reply: '250-mail.example.com\n250-PIPELINING\n250 AUTH PLAIN LOGIN',
            code: 250,
            ms: 8,
            ok: true,
          },
          { step: 'quit', command: 'QUIT', reply: '221 2.0.0 Bye', code: 221, ms: 8, ok: true },
        ],
      },
    },
  ],
  errors: ['host_not_found', 'target_refused', 'target_failed', 'target_timeout'],
  check({ host, username, password, authMechanism, domain }) {
    const parsed = parseHost(host);
    const faults = parsed.kind === 'invalid' ? [{ pointer: '/host', message: parsed.message }] : [];
    const reported = domain === undefined ? null : parseHost(domain);
    if (reported?.kind === 'invalid') faults.push({ pointer: '/domain', message: reported.message });
    if (reported?.kind === 'address')
      faults.push({ pointer: '/domain', message: 'is an IP address; enter a domain name' });
    faults.push(
      ...credentialFaults('/username', username, password),
      ...credentialFaults('/password', password, username),
    );
    if (authMechanism !== undefined && username === undefined && password === undefined)
      faults.push({ pointer: '/authMechanism', message: 'requires username and password' });
    return faults;
  },
  actsOnWorld: ({ username }) => username !== undefined,
});
