import type { Fault } from '../errors.ts';
import { parseHost } from '../formats/hostname.ts';
import { defineTool } from '../tool.ts';

const PORTS = [25, 465, 587, 2525] as const;

/** The SASL mechanisms that we speak; where the caller names none, the first that the server offers over TLS. */
export const MECHANISMS = ['PLAIN', 'LOGIN', 'CRAM-MD5', 'XOAUTH2'] as const;
export type Mechanism = (typeof MECHANISMS)[number];

/** SASLprep forbids them (RFC 4013 section 2.3), and in PLAIN and XOAUTH2 they part one field from the next. */
const CONTROL = /\p{Cc}/u;

function credentialFaults(pointer: string, text: string | undefined, other: string | undefined): Fault[] {
  if (text === undefined)
    return other === undefined
      ? []
      : [{ pointer, message: 'is required: username and password go together' }];
  return CONTROL.test(text) ? [{ pointer, message: 'holds a control character' }] : [];
}

export default defineTool({
  name: 'smtp-test',
  title: 'SMTP server test',
  description:
    'Talks to a mail server as far as a mail client does before it sends: connection, banner, EHLO, STARTTLS, EHLO again, ' +
    'with credentials AUTH, then QUIT. It sends no mail. `steps` is the whole conversation with its times. Once the server ' +
    'has greeted, whatever it says or fails to do is a result, told by the step where it happened: a banner of 421 or 554, ' +
    'a refused STARTTLS, a failed handshake, a wrong password, a reply that never comes or breaks the protocol (a line ' +
    'above 2 KB, more than 100 lines, replies of more than 256 KB). Before that, a refused connection, a failed handshake of implicit TLS and anything ' +
    'but an SMTP banner are `target_failed`, and a server that is silent is `target_timeout`. Connecting and each step have ' +
    '10 s, all of it 30 s. An invalid certificate is reported and the session goes on. Credentials go over TLS, or ' +
    'in clear where you ask for `encryption: none`; never in clear because STARTTLS is not offered or fails, and not where ' +
    'plaintext followed the reply to STARTTLS. AUTH is sent at most once, whatever happens here, and is not called off by ' +
    'hanging up. Where the server repeats the credentials, plain or encoded, `***` stands in their place.',
  price: 3,
  pool: 'network',
  limits: { workMs: 30_000 },
  input: {
    type: 'object',
    properties: {
      host: {
        type: 'string',
        minLength: 1,
        // A name of 253 characters with a trailing dot.
        maxLength: 254,
        description: 'Mail server hostname or IP address, without a port.',
      },
      port: { type: 'integer', enum: PORTS, default: 587, description: 'One of 25, 465, 587, 2525.' },
      encryption: {
        type: 'string',
        enum: ['starttls', 'ssl', 'none'],
        default: 'starttls',
        description:
          '`starttls` upgrades the connection where the server offers it, `ssl` speaks TLS from the start, `none` does ' +
          'neither. Port 465 always uses implicit TLS, whatever stands here.',
      },
      username: {
        type: 'string',
        minLength: 1,
        maxLength: 512,
        writeOnly: true,
        description: 'Supplying credentials adds an AUTH check; used once, never stored.',
      },
      password: {
        type: 'string',
        minLength: 1,
        // Access tokens are long; RFC 4954 section 4 lets a base64 line have 12,288 octets.
        maxLength: 8192,
        writeOnly: true,
        description:
          'Needed only together with username; for XOAUTH2 the access token. Used once, never stored.',
      },
      authMechanism: {
        type: 'string',
        enum: MECHANISMS,
        description:
          'How to authenticate. Left out: the first of PLAIN, LOGIN, CRAM-MD5 and XOAUTH2 that the server offers; with ' +
          '`encryption: none` CRAM-MD5 before the others, because it does not show the password. Only one is tried.',
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
        description: 'What the session used: `starttls`, `implicit-tls` or `none`.',
      },
      authAttempted: {
        type: 'boolean',
        description:
          'Whether credentials were supplied. They were sent where a step `auth` has a command; one without says why not, ' +
          'and a conversation that broke off before has no such step.',
      },
      authSucceeded: {
        type: 'boolean',
        description: 'Whether the server accepted them; false also where they were not sent.',
      },
      certificateSubject: {
        type: ['string', 'null'],
        description:
          'TLS certificate subject as in RFC 4514, `CN=mail.example.com`; empty when it has none, null without TLS.',
      },
      certificateIssuer: {
        type: ['string', 'null'],
        description: 'TLS certificate issuer, written likewise; null without TLS.',
      },
      certificateExpiresUtc: {
        type: ['string', 'null'],
        format: 'date-time',
        description: 'Certificate expiry, UTC, ISO 8601; null without TLS.',
      },
      certificateValid: {
        type: ['boolean', 'null'],
        description:
          'Whether the certificate is in its time, leads to a trusted root and is for this host; null without TLS.',
      },
      certificateError: {
        type: ['string', 'null'],
        description:
          'Why it is not valid, by the name of the X509_V_ERR code of OpenSSL (`CERT_HAS_EXPIRED`, ' +
          '`DEPTH_ZERO_SELF_SIGNED_CERT`, …), or `ERR_TLS_CERT_ALTNAME_INVALID` where it is for another host; else null.',
      },
      extensions: {
        type: 'array',
        items: { type: 'string' },
        description:
          'EHLO capabilities advertised, a line each with its parameters, `SIZE 35882577`: of the last EHLO, so of the one ' +
          'after STARTTLS where that was used. Empty where EHLO was refused.',
      },
      authMechanisms: {
        type: 'array',
        items: { type: 'string' },
        description: 'AUTH mechanisms offered there, in capitals. Many servers offer none before STARTTLS.',
      },
      flags: {
        type: 'array',
        items: { type: 'string', enum: ['starttls_injection'] },
        description:
          'Weaknesses seen. `starttls_injection`: plaintext came after the reply to STARTTLS, where TLS was due; a client ' +
          'that reads it as part of the encrypted session can be deceived. We drop it.',
      },
      steps: {
        type: 'array',
        description: 'Each protocol step with timing and reply, in order.',
        items: {
          type: 'object',
          properties: {
            step: {
              type: 'string',
              enum: ['connect', 'tls', 'banner', 'ehlo', 'helo', 'starttls', 'auth', 'quit'],
              description:
                'What it was for. `helo` follows an EHLO that the server does not know; AUTH can take several.',
            },
            command: {
              type: ['string', 'null'],
              description:
                'Line that was sent, credentials replaced by `***`; null where none was, as for `connect`, `tls` and `banner`.',
            },
            reply: {
              type: ['string', 'null'],
              description:
                'Reply of the server as it came, its lines parted by line feeds, bytes that are not UTF-8 read as Latin-1, ' +
                'control characters as U+FFFD. Where `code` is null it is in our words: what happened instead, or the ' +
                'version and cipher of TLS.',
            },
            code: { type: ['integer', 'null'], description: 'Reply code; null without a reply.' },
            ms: {
              type: 'integer',
              minimum: 0,
              description: 'Duration, milliseconds; the DNS look-up before `connect` is not in it.',
            },
            ok: {
              type: 'boolean',
              description: 'Whether the step went as it should. A certificate that is not valid fails none.',
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
      faults.push({ pointer: '/authMechanism', message: 'needs username and password' });
    return faults;
  },
  actsOnWorld: ({ username }) => username !== undefined,
});
