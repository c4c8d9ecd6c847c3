import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, checkServerIdentity, connect, type TLSSocket } from 'node:tls';
import { type Limits, startClock } from './clock.ts';
import { readSocketError, targetFailed } from './failure.ts';
import { identityOf, peerCertificates } from './peerCertificates.ts';
import { explainCertificate, verifyErrorOf } from './verification.ts';
import type { Vetted } from './vet.ts';

export interface TlsOptions
  extends Limits,
    Pick<
      ConnectionOptions,
      | 'minVersion'
      | 'maxVersion'
      | 'ciphers'
      | 'ecdhCurve'
      | 'ALPNProtocols'
      | 'minDHSize'
      | 'secureOptions'
      | 'requestOCSP'
    > {
  /** Whether a certificate that is not valid for the host fails the handshake (`enforce`) or is only reported (`report`). */
  verify?: 'enforce' | 'report';
  /** Called with the socket before the handshake, to add listeners. */
  observe?: (socket: TLSSocket) => void;
}

const hostOf = ({ target: { host } }: Vetted): string => (host.kind === 'name' ? host.name : host.address);

/** The verification error that Node reports at the end of a handshake. Node has fewer codes than OpenSSL. */
function publishedError({ authorized, authorizationError }: TLSSocket): string | null {
  if (authorized) return null;
  const error: unknown = authorizationError;
  return error instanceof Error ? error.message : String(error);
}

/**
 * Returns the faults of a certificate under `verify: 'report'`: OpenSSL's error code for the chain, such as
 * `CERT_HAS_EXPIRED`, and Node's error code for the host, `ERR_TLS_CERT_ALTNAME_INVALID`; null for each that is valid.
 */
export function certificateFaults(
  socket: TLSSocket,
  vetted: Vetted,
): { chain: string | null; host: string | null } {
  const chain = verifyErrorOf(socket);
  const own = peerCertificates(socket)?.certificates[0];
  const isOfHost = own !== undefined && checkServerIdentity(hostOf(vetted), identityOf(own)) === undefined;
  return {
    chain: chain === undefined ? publishedError(socket) : chain,
    host: isOfHost ? null : 'ERR_TLS_CERT_ALTNAME_INVALID',
  };
}

/**
 * Starts TLS on a socket that `connect` returned, before any data or after STARTTLS. A host name is sent as SNI, an IP
 * address is not (RFC 6066 section 3). On failure, the socket is destroyed.
 *
 * @param ca root certificates to trust instead of the default ones
 * @throws ServiceError `target_failed`, `target_timeout`, `deadline_exceeded`; the signal's reason
 */
export async function startTls(
  socket: Duplex,
  vetted: Vetted,
  ca: readonly string[] | undefined,
  { verify = 'enforce', observe, signal, deadline, ...tls }: TlsOptions,
): Promise<TLSSocket> {
  using clock = startClock({ signal, deadline });
  // On a closed socket, Node's handshake would wait until the deadline.
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
    // Limits authorizationError to faults of the chain; certificateFaults checks the host separately.
    ...(verify === 'report' ? { checkServerIdentity: () => undefined } : {}),
    ...(ca === undefined ? {} : { ca: [...ca] }),
  });
  // An `error` event without a listener would end the process.
  secure.on('error', () => undefined);
  observe?.(secure);
  try {
    await once(secure, 'secureConnect', { signal: clock.signal });
    return secure;
  } catch (error) {
    secure.destroy();
    socket.destroy();
    // Node sets authorizationError when it has rejected the certificate.
    const failure = secure.authorizationError
      ? targetFailed('certificate', { detail: explainCertificate(error), cause: error })
      : readSocketError(error);
    throw clock.explain(failure);
  }
}
