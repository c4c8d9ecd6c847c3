import type { Fault } from '../errors.ts';
import { parseHost } from '../formats/hostname.ts';
import { defineTool } from '../tool.ts';

const PORTS = [25, 465, 587, 2525] as const;

/** Supported SASL mechanisms in order of preference over TLS. */
export const MECHANISMS = ['PLAIN', 'LOGIN', 'CRAM-MD5', 'XOAUTH2'] as const;
export type Mechanism = (typeof MECHANISMS)[number];

/** Forbidden by SASLprep (RFC 4013 section 2.3); PLAIN and XOAUTH2 use control characters as field separators. */
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
    'protocol (a line above 2 KB, more than 100 lines, more than 256 KB in all). Before that, a refused connection, ' +
    'a failed handshake of implicit TLS, and anything other than an SMTP banner are `target_failed`; a server that ' +
    'does not answer is `target_timeout`. Connecting and each step have 10 s, the whole call 30 s. An invalid ' +
    'certificate is reported and the session continues. Credentials are sent over TLS only, or in clear text if you ' +
    'request `encryption: none`. They are never sent when STARTTLS is not offered or fails, nor when plaintext ' +
    'followed the reply to STARTTLS. AUTH is sent at most once and is not cancelled when the caller disconnects. ' +
    'Credentials that the server repeats, plain or encoded, are replaced by `***`.',
  price: 3,
  pool: 'network',
  limits: { workMs: 30_000 },
  input: {
    type: 'object',
    properties: {
      host: {
        type: 'string',
        minLength: 1,
        // 253 characters and a trailing dot.
        maxLength: 254,
        description: 'Mail server hostname or IP address, without a port.',
      },
      port: { type: 'integer', enum: PORTS, default: 587, description: 'One of 25, 465, 587, 2525.' },
      encryption: {
        type: 'string',
        enum: ['starttls', 'ssl', 'none'],
        default: 'starttls',
        description:
          '`starttls` upgrades the connection if the server offers it, `ssl` uses TLS from the start, `none` uses ' +
          'neither. Port 465 always uses implicit TLS, regardless of this field.',
      },
      username: {
        type: 'string',
        minLength: 1,
        maxLength: 512,
        writeOnly: true,
        description: 'Credentials add an AUTH check. Used once, never stored.',
      },
      password: {
        type: 'string',
        minLength: 1,
        // Access tokens are long; RFC 4954 section 4 allows base64 lines of 12,288 octets.
        maxLength: 8192,
        writeOnly: true,
        description: 'Required with username; for XOAUTH2 the access token. Used once, never stored.',
      },
      authMechanism: {
        type: 'string',
        enum: MECHANISMS,
        description:
          'Authentication mechanism. Default: the first of PLAIN, LOGIN, CRAM-MD5 and XOAUTH2 that the server ' +
          'offers; with `encryption: none` CRAM-MD5 is preferred, because it does not expose the password. Only one ' +
          'is tried.',
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
          'Whether credentials were supplied. If they were sent, the `auth` step has a command; otherwise the step says why ' +
          'not. It is missing if the conversation ended earlier.',
      },
      authSucceeded: {
        type: 'boolean',
        description: 'Whether the server accepted the credentials; false if they were not sent.',
      },
      certificateSubject: {
        type: ['string', 'null'],
        description:
          'TLS certificate subject as in RFC 4514, `CN=mail.example.com`; empty if the subject is empty, null without TLS.',
      },
      certificateIssuer: {
        type: ['string', 'null'],
        description: 'TLS certificate issuer in the same format; null without TLS.',
      },
      certificateExpiresUtc: {
        type: ['string', 'null'],
        format: 'date-time',
        description: 'Certificate expiry, UTC, ISO 8601; null without TLS.',
      },
      certificateValid: {
        type: ['boolean', 'null'],
        description:
          'Whether the certificate is within its validity period, chains to a trusted root and matches the host; null without TLS.',
      },
      certificateError: {
        type: ['string', 'null'],
        description:
          "Verification error of an invalid certificate: OpenSSL's X509_V_ERR name (`CERT_HAS_EXPIRED`, " +
          '`DEPTH_ZERO_SELF_SIGNED_CERT`, …) or `ERR_TLS_CERT_ALTNAME_INVALID` for a host mismatch; otherwise null.',
      },
      extensions: {
        type: 'array',
        items: { type: 'string' },
        description:
          'Capabilities of the last EHLO, one line each with parameters, such as `SIZE 35882577`; after STARTTLS those of the ' +
          'encrypted session. Empty if EHLO was refused.',
      },
      authMechanisms: {
        type: 'array',
        items: { type: 'string' },
        description: 'Advertised AUTH mechanisms in capitals. Many servers offer none before STARTTLS.',
      },
      flags: {
        type: 'array',
        items: { type: 'string', enum: ['starttls_injection', 'early_reply'] },
        description:
          'Detected weaknesses. `starttls_injection`: the server sent plaintext after its reply to STARTTLS. A client that ' +
          'reads it as part of the encrypted session can be deceived. It is discarded here. `early_reply`: the server sent replies before the command was sent; they ' +
          'are the step `unsolicited` and are not taken for the reply to the command.',
      },
      steps: {
        type: 'array',
        description: 'Each protocol step with timing and reply, in order.',
        items: {
          type: 'object',
          properties: {
            step: {
              type: 'string',
              enum: ['connect', 'tls', 'banner', 'ehlo', 'helo', 'starttls', 'auth', 'quit', 'unsolicited'],
              description:
                'Kind of the step. `helo` follows an EHLO that the server does not support; AUTH can take several steps; ' +
                '`unsolicited` holds replies that no command asked for, without a duration.',
            },
            command: {
              type: ['string', 'null'],
              description:
                'The sent line, with credentials replaced by `***`; null if none was sent, as for `connect`, `tls` and `banner`.',
            },
            reply: {
              type: ['string', 'null'],
              description:
                'Reply of the server as sent, lines separated by line feeds, bytes that are not UTF-8 read as Latin-1, ' +
                'control characters replaced by U+FFFD. If `code` is null, a description of what happened, or the ' +
                'version and cipher of TLS.',
            },
            code: { type: ['integer', 'null'], description: 'Reply code; null without a reply.' },
            ms: {
              type: 'integer',
              minimum: 0,
              description: 'Duration in milliseconds, without the DNS look-up before `connect`.',
            },
            ok: {
              type: 'boolean',
              description: 'Whether the step succeeded. An invalid certificate does not fail a step.',
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
  check({ host, username, password, authMechanism }) {
    const parsed = parseHost(host);
    const faults = parsed.kind === 'invalid' ? [{ pointer: '/host', message: parsed.message }] : [];
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
