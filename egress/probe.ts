import { constants } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { Limits } from './clock.ts';
import { failureKind, targetFailed } from './failure.ts';
import type { Guard } from './guard.ts';
import { certificateFaults } from './tls.ts';
import { verifyErrorOf } from './verification.ts';
import type { Vetted } from './vet.ts';

/** What a server showed of itself in a TLS handshake. */
export interface Presented {
  /** DER: the server's own certificate, then each one's issuer as far as it is presented or trusted. Never empty. */
  chain: readonly Buffer[];
  /** OpenSSL's code, such as CERT_HAS_EXPIRED; null when the chain ends at a trusted root. */
  chainError: string | null;
  hostnameMatches: boolean;
  /** As OpenSSL names it, `TLSv1.3`. */
  protocol: string;
}

/** Far longer than any real chain. */
const MAX_CHAIN = 20;

/** The oldest and weakest that this build of OpenSSL speaks: the answer is about the certificate, not the transport. */
export const ANYTHING = {
  verify: 'report',
  minVersion: 'TLSv1',
  // Anonymous ciphers present no certificate.
  ciphers: 'ALL:!aNULL:@SECLEVEL=0',
  minDHSize: 1,
  // Servers from before RFC 5746 (secure renegotiation).
  secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
} as const;

function chainOf(socket: TLSSocket): Buffer[] {
  const chain: Buffer[] = [];
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  // Empty before a certificate came; a root is its own issuer.
  while (next?.raw !== undefined && chain.length < MAX_CHAIN) {
    const { raw } = next;
    if (chain.some((seen) => seen.equals(raw))) break;
    chain.push(raw);
    next = next.issuerCertificate;
  }
  return chain;
}

function read(socket: TLSSocket, vetted: Vetted, chainError: string | null): Presented | null {
  const chain = chainOf(socket);
  if (chain.length === 0) return null;
  const hostnameMatches = certificateFaults(socket, vetted).host === null;
  return { chain, chainError, hostnameMatches, protocol: socket.getProtocol() ?? '' };
}

/** What a server presented in a handshake that is done; null for what is no X.509 certificate. */
export const presentedBy = (socket: TLSSocket, vetted: Vetted): Presented | null =>
  read(socket, vetted, certificateFaults(socket, vetted).chain);

/**
 * Opens a TLS connection and reads what the server presents, valid or not.
 *
 * @throws ServiceError `target_failed`, `target_timeout`; the signal's reason
 */
export async function probeTls(
  egress: Pick<Guard, 'connect' | 'startTls'>,
  vetted: Vetted,
  limits: Limits,
): Promise<Presented> {
  const socket = await egress.connect(vetted, limits);
  let early: Presented | null = null;
  // Up to TLS 1.2 a server that insists on a client certificate ends the handshake, but only after it has presented its
  // own and the keys are agreed.
  const observe = (secure: TLSSocket): void => {
    secure.on('keylog', () => {
      const chainError = verifyErrorOf(secure);
      if (chainError !== undefined) early = read(secure, vetted, chainError) ?? early;
    });
  };
  try {
    const secure = await egress.startTls(socket, vetted, { ...ANYTHING, ...limits, observe });
    const presented = presentedBy(secure, vetted);
    if (presented === null)
      throw targetFailed('tls', { detail: 'The target presented no X.509 certificate.' });
    return presented;
  } catch (error) {
    if (early === null || failureKind(error) === null) throw error;
    return early;
  } finally {
    socket.destroy();
  }
}
