import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, connect, type TLSSocket } from 'node:tls';
import { type Limits, startClock } from './clock.ts';
import { readSocketError, targetFailed } from './failure.ts';
import { verifyErrorOf } from './verification.ts';
import type { Vetted } from './vet.ts';

export interface TlsOptions
  extends Limits,
    Pick<
      ConnectionOptions,
      'minVersion' | 'maxVersion' | 'ciphers' | 'ALPNProtocols' | 'minDHSize' | 'secureOptions'
    > {
  /** `enforce` fails on a certificate that is not valid for the host, `report` leaves the judgement to the caller. */
  verify?: 'enforce' | 'report';
  /** Gets the socket before the handshake, to listen to what happens in it. */
  observe?: (socket: TLSSocket) => void;
}

const hostOf = ({ target: { host } }: Vetted): string => (host.kind === 'name' ? host.name : host.address);

/** What Node publishes at the end of a handshake, which knows fewer codes. */
function publishedError({ authorized, authorizationError }: TLSSocket): string | null {
  if (authorized) return null;
  const error: unknown = authorizationError;
  return error instanceof Error ? error.message : String(error);
}

/**
 * What is wrong with the certificate that a server presented under `verify: 'report'`: the chain by OpenSSL's code
 * (`CERT_HAS_EXPIRED`), the host by Node's (`ERR_TLS_CERT_ALTNAME_INVALID`); null where all is well.
 */
export function certificateFaults(
  socket: TLSSocket,
  vetted: Vetted,
): { chain: string | null; host: string | null } {
  const chain = verifyErrorOf(socket);
  const fault = checkServerIdentity(hostOf(vetted), socket.getPeerCertificate());
  return {
    chain: chain === undefined ? publishedError(socket) : chain,
    host: fault === undefined ? null : 'ERR_TLS_CERT_ALTNAME_INVALID',
  };
}

/**
 * Speaks TLS over a socket of `connect`, from its start or after STARTTLS. The name goes out as SNI; an address does not
 * (RFC 6066 section 3).
 *
 * @param ca certificates to trust instead of the default ones
 * @throws ServiceError `target_failed`, `target_timeout`, `deadline_exceeded`; the signal's reason. The socket is destroyed
 *   then
 */
export async function startTls(
  socket: Socket,
  vetted: Vetted,
  ca: readonly string[] | undefined,
  { verify = 'enforce', observe, signal, deadline, ...tls }: TlsOptions,
): Promise<TLSSocket> {
  using clock = startClock({ signal, deadline });
  // On one that is over Node would wait until the deadline.
  if (socket.destroyed || socket.readableEnded || socket.errored !== null) {
    socket.destroy();
    throw clock.explain(targetFailed('reset', { cause: socket.errored }));
  }
  const { kind } = vetted.target.host;
  const secure = connect({
    ...tls,
    socket,
    host: hostOf(vetted),
    servername: kind === 'name' ? hostOf(vetted) : '',
    rejectUnauthorized: verify === 'enforce',
    // So that authorizationError is about the chain alone, and certificateFaults tells the two apart.
    ...(verify === 'report' ? { checkServerIdentity: () => undefined } : {}),
    ...(ca === undefined ? {} : { ca: [...ca] }),
  });
  // An error that nobody waits for must not end the process.
  secure.on('error', () => undefined);
  observe?.(secure);
  try {
    await once(secure, 'secureConnect', { signal: clock.signal });
    return secure;
  } catch (error) {
    secure.destroy();
    socket.destroy();
    // Node sets it when it was the certificate that it did not like.
    const failure = secure.authorizationError
      ? targetFailed('certificate', { cause: error })
      : readSocketError(error);
    throw clock.explain(failure);
  }
}
