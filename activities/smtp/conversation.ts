import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/smtp-test.ts';
import { MECHANISMS } from '../../schemas/tools/smtp-test.ts';
import { NO_CERTIFICATE } from './certificate.ts';
import { NO_CAPABILITIES, readCapabilities } from './ehlo.ts';
import { type Reply, textOf } from './reply.ts';
import { type Credentials, chooseMechanism, createExchange } from './sasl.ts';
import { CLOSING, type Session } from './session.ts';

type Input = ToolInput<typeof definition>;
/** The output of the tool without `steps`, which the session records, and without the report on a domain. */
type Findings = Omit<ToolOutput<typeof definition>, 'steps' | 'domain'>;

const IMPLICIT_TLS_PORT = 465;
/** Address literal to send in EHLO. It is valid without a host name (RFC 5321 section 4.1.4) and reveals nothing. */
const CLIENT = '[127.0.0.1]';
/**
 * Maximum length of a command line without its line break (RFC 5321 section 4.5.3.1.4). An initial response that does not
 * fit into the AUTH command is sent after an empty challenge instead (RFC 4954 section 4).
 */
const COMMAND_BYTES = 510;
const CHALLENGE = 334;
const REDACTED = '***';

export const newFindings = ({ username }: Input): Findings => ({
  encryption: 'none',
  authAttempted: username !== undefined,
  authSucceeded: false,
  ...NO_CERTIFICATE,
  extensions: [],
  authMechanisms: [],
  flags: [],
});

interface Hello {
  reply: Reply;
  /** Whether the server offers STARTTLS. */
  starttls: boolean;
}

/** Sends EHLO, and HELO after any other reply than success and the end of the session, as clients do (RFC 5321 section 3.2). */
async function greet(session: Session, findings: Findings): Promise<Hello> {
  const ehlo = await session.ask('ehlo', `EHLO ${CLIENT}`, 250);
  const { starttls, ...capabilities } = ehlo.code === 250 ? readCapabilities(ehlo) : NO_CAPABILITIES;
  Object.assign(findings, capabilities);
  const isRefused = ehlo.code !== 250 && ehlo.code !== CLOSING;
  return { reply: isRefused ? await session.ask('helo', `HELO ${CLIENT}`, 250) : ehlo, starttls };
}

/** Upgrades the connection with STARTTLS. @returns the last reply, and the reason not to send credentials, or null */
async function upgrade(
  session: Session,
  findings: Findings,
  { reply: hello, starttls }: Hello,
): Promise<{ reply: Reply; obstacle: string | null }> {
  const obstacle = 'Not sent: the connection is not encrypted.';
  if (!starttls) {
    session.note('starttls', 'The server does not offer STARTTLS.');
    return { reply: hello, obstacle };
  }
  const go = await session.ask('starttls', 'STARTTLS', 220);
  if (go.code !== 220) return { reply: go, obstacle };
  const injected = await session.drain();
  if (injected) findings.flags.push('starttls_injection');
  const certificate = await session.startTls();
  // Capabilities received before TLS must be discarded (RFC 3207 section 4.2).
  const cleared = { extensions: [], authMechanisms: [] };
  Object.assign(findings, cleared, certificate, { encryption: 'starttls' });
  const { reply } = await greet(session, findings);
  return { reply, obstacle: injected ? 'Not sent: plaintext followed the reply to STARTTLS.' : null };
}

/**
 * Authenticates once, with the wanted or the best offered mechanism.
 *
 * @param sent collects each base64 line that contains credentials
 * @returns the last reply; null when the server does not offer the mechanism
 */
async function authenticate(
  session: Session,
  findings: Findings,
  credentials: Credentials,
  wanted: Input['authMechanism'],
  sent: string[],
): Promise<Reply | null> {
  const { authMechanisms, encryption } = findings;
  const mechanism = chooseMechanism(authMechanisms, wanted, encryption !== 'none');
  if (mechanism === null) {
    session.note('auth', `The server does not offer ${wanted ?? `any of ${MECHANISMS.join(', ')}`}.`);
    return null;
  }
  const { responses, clientFirst } = createExchange(mechanism, credentials);
  const respond = (challenge: Buffer): string | null => {
    const response = responses.shift()?.(challenge);
    if (response === undefined) return null;
    const encoded = Buffer.from(response).toString('base64');
    sent.push(encoded);
    return encoded;
  };

  const command = `AUTH ${mechanism}`;
  const wantedCodes = [235, CHALLENGE];
  const initial = clientFirst ? respond(Buffer.alloc(0)) : null;
  const fits = initial !== null && `${command} ${initial}`.length <= COMMAND_BYTES;
  let reply = fits
    ? await session.ask('auth', `${command} ${initial}`, wantedCodes, `${command} ${REDACTED}`)
    : await session.ask('auth', command, wantedCodes);
  let pending = fits ? null : initial;
  while (reply.code === CHALLENGE) {
    const response = pending ?? respond(Buffer.from(textOf(reply.lines.at(-1) ?? ''), 'base64'));
    pending = null;
    // An asterisk cancels the exchange (RFC 4954 section 4).
    if (response === null) return session.ask('auth', '*', 501);
    reply = await session.ask('auth', response, wantedCodes, response === '' ? '' : REDACTED);
  }
  findings.authSucceeded = reply.code === 235;
  return reply;
}

/**
 * Runs the SMTP conversation up to QUIT. Adds to `findings` after each step, so that they are available after a failure.
 *
 * @param sent collects each base64 line that contains credentials
 * @throws ServiceError target_failed or target_timeout when the server fails; the signal's reason
 */
export async function converse(
  session: Session,
  { port, encryption, username, password, authMechanism }: Input,
  findings: Findings,
  sent: string[],
): Promise<void> {
  const quit = async ({ code }: Reply): Promise<void> => {
    if (code !== CLOSING) await session.ask('quit', 'QUIT', 221);
  };

  const implicit = port === IMPLICIT_TLS_PORT || encryption === 'ssl';
  if (implicit) Object.assign(findings, await session.startTls(), { encryption: 'implicit-tls' });
  const banner = await session.ask('banner', null, 220);
  if (banner.code !== 220) return quit(banner);
  const hello = await greet(session, findings);
  if (hello.reply.code !== 250) return quit(hello.reply);

  const upgrades = !implicit && encryption === 'starttls';
  const { reply, obstacle } = upgrades
    ? await upgrade(session, findings, hello)
    : { reply: hello.reply, obstacle: null };
  if (username === undefined || password === undefined) return quit(reply);
  if (obstacle !== null) {
    session.note('auth', obstacle);
    return quit(reply);
  }
  const last = await authenticate(session, findings, { username, password }, authMechanism, sent);
  return quit(last ?? reply);
}
