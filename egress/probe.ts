import { constants, X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { Limits } from './clock.ts';
import { failureKind, targetFailed } from './failure.ts';
import type { Guard } from './guard.ts';
import { issued, type RootOf } from './roots.ts';
import { certificateFaults } from './tls.ts';
import { verifyErrorOf } from './verification.ts';
import type { Vetted } from './vet.ts';

/** The certificates and parameters that a server presented in a TLS handshake. */
export interface Presented {
  /** DER: the server's certificate, then the issuer of each, as far as presented or trusted. Never empty. */
  chain: readonly Buffer[];
  /** OpenSSL's code, such as CERT_HAS_EXPIRED; null when the chain ends at a trusted root. */
  chainError: string | null;
  hostnameMatches: boolean;
  /** OpenSSL's name, such as `TLSv1.3`. */
  protocol: string;
}

/** Far longer than any real chain. */
const MAX_CHAIN = 20;

/** The oldest protocol and weakest ciphers of this OpenSSL build: the tool reports certificates, not transports. */
export const ANYTHING = {
  verify: 'report',
  minVersion: 'TLSv1',
  // Anonymous ciphers present no certificate.
  ciphers: 'ALL:!aNULL:@SECLEVEL=0',
  minDHSize: 1,
  // Servers from before RFC 5746 (secure renegotiation).
  secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
} as const;

/** Ciphers without encryption come last. They are enough to read a certificate; no secret is sent. */
const ANY_CIPHER = 'ALL:eNULL:!aNULL:@SECLEVEL=0';

function chainOf(socket: TLSSocket): Buffer[] {
  const chain: Buffer[] = [];
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  // The object is empty before a certificate arrives. A root is its own issuer.
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

const isSelfIssued = (der: Buffer | undefined): boolean => {
  if (der === undefined) return false;
  const { subject, issuer } = new X509Certificate(der);
  return subject === issuer;
};

/** The certificates that the server sent, each followed by its issuer, and the trusted root if the server omitted it. */
function sortedChain(socket: TLSSocket, rootOf: RootOf): Buffer[] {
  const rest: X509Certificate[] = [];
  let next = socket.getPeerX509Certificate();
  for (; next !== undefined && rest.length < MAX_CHAIN; next = next.issuerCertificate) rest.push(next);
  const chain = rest.splice(0, 1);
  for (const last of chain) {
    const at = rest.findIndex((certificate) => issued(certificate, last));
    if (at !== -1) chain.push(...rest.splice(at, 1));
    else if (chain.length < MAX_CHAIN) {
      const root = rootOf(last);
      if (root !== null && root.raw.compare(last.raw) !== 0) chain.push(root);
    }
  }
  return chain.map(({ raw }) => raw);
}

/**
 * Reads the certificates of a completed handshake; null when it is not an X.509 certificate. Call it once per socket.
 */
export function presentedBy(socket: TLSSocket, vetted: Vetted, rootOf: RootOf): Presented | null {
  const presented = read(socket, vetted, certificateFaults(socket, vetted).chain);
  if (presented === null || presented.chainError !== null || isSelfIssued(presented.chain.at(-1)))
    return presented;
  // Node's list ends early when the issuer it found was the last certificate sent. Reading the certificates as sent
  // removes them from OpenSSL's list and leaks about 10 KB, so it is done last and only when needed.
  return { ...presented, chain: sortedChain(socket, rootOf) };
}

/**
 * Opens a TLS connection and reads the certificates that the server presents, valid or not.
 *
 * @throws ServiceError `target_failed`, `target_timeout`; the signal's reason
 */
export async function probeTls(
  egress: Pick<Guard, 'connect' | 'startTls' | 'rootOf'>,
  vetted: Vetted,
  limits: Limits,
): Promise<Presented> {
  const socket = await egress.connect(vetted, limits);
  let early: Presented | null = null;
  // Up to TLS 1.2, a server that requires a client certificate aborts the handshake, but only after it has presented its
  // own certificate and the keys are agreed.
  const observe = (secure: TLSSocket): void => {
    secure.on('keylog', () => {
      const chainError = verifyErrorOf(secure);
      if (chainError !== undefined) early = read(secure, vetted, chainError) ?? early;
    });
  };
  try {
    const secure = await egress.startTls(socket, vetted, {
      ...ANYTHING,
      ciphers: ANY_CIPHER,
      ...limits,
      observe,
    });
    const presented = presentedBy(secure, vetted, egress.rootOf);
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
