import { constants, X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import type { Limits } from './clock.ts';
import { failureKind, targetFailed } from './failure.ts';
import type { Guard } from './guard.ts';
import { issued, type RootOf, signed } from './roots.ts';
import { certificateFaults } from './tls.ts';
import { verifyErrorOf } from './verification.ts';
import type { Vetted } from './vet.ts';

/** The certificates and parameters that a server presented in a TLS handshake. */
export interface Presented {
  /** DER: the server's certificate, then the issuer of each, as far as presented or trusted. Never empty. */
  chain: readonly Buffer[];
  /** The chain has more certificates than are returned. */
  truncated: boolean;
  /** OpenSSL's code, such as CERT_HAS_EXPIRED; null when the chain ends at a trusted root. */
  chainError: string | null;
  /** By the rules of Node, which also takes common names and partial wildcards. */
  hostnameMatches: boolean;
  /** OpenSSL's name, such as `TLSv1.3`. */
  protocol: string;
}

/** Longer than any chain that clients verify. OpenSSL accepts about 100 KB of certificates. */
const MAX_CHAIN = 100;

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

type Chain = Pick<Presented, 'chain' | 'truncated'>;

function chainOf(socket: TLSSocket): Chain {
  const chain: Buffer[] = [];
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  // The object is empty before a certificate arrives. A root is its own issuer.
  while (next?.raw !== undefined) {
    const { raw } = next;
    if (chain.some((seen) => seen.equals(raw))) break;
    if (chain.length === MAX_CHAIN) return { chain, truncated: true };
    chain.push(raw);
    next = next.issuerCertificate;
  }
  return { chain, truncated: false };
}

function read(socket: TLSSocket, vetted: Vetted, chainError: string | null): Presented | null {
  const chain = chainOf(socket);
  if (chain.chain.length === 0) return null;
  const hostnameMatches = certificateFaults(socket, vetted).host === null;
  return { ...chain, chainError, hostnameMatches, protocol: socket.getProtocol() ?? '' };
}

const isSelfIssued = (der: Buffer | undefined): boolean => {
  if (der === undefined) return false;
  const { subject, issuer } = new X509Certificate(der);
  return subject === issuer;
};

/**
 * The certificates that the server sent, each followed by its issuer, and the trusted root if the server omitted it. An
 * issuer is one by name and signature, also if it may not issue certificates.
 */
function sortedChain(socket: TLSSocket, rootOf: RootOf): Chain {
  const rest: X509Certificate[] = [];
  let next = socket.getPeerX509Certificate();
  for (; next !== undefined && rest.length < MAX_CHAIN; next = next.issuerCertificate) rest.push(next);
  const truncated = next !== undefined;
  const chain = rest.splice(0, 1);
  for (const last of chain) {
    const take = (is: typeof issued): X509Certificate | undefined => {
      const at = rest.findIndex((certificate) => is(certificate, last));
      return at === -1 ? undefined : rest.splice(at, 1)[0];
    };
    const next = take(issued) ?? rootOf(last) ?? take(signed);
    if (next !== undefined && !next.raw.equals(last.raw)) chain.push(next);
  }
  return { chain: chain.map(({ raw }) => raw), truncated };
}

/**
 * Reads the certificates of a completed handshake; null when it is not an X.509 certificate. Call it once per socket.
 */
export function presentedBy(socket: TLSSocket, vetted: Vetted, rootOf: RootOf): Presented | null {
  const presented = read(socket, vetted, certificateFaults(socket, vetted).chain);
  if (presented === null || presented.truncated || isSelfIssued(presented.chain.at(-1))) return presented;
  // Node's list ends early when the issuer it found was the last certificate sent, or may not issue certificates. Reading
  // the certificates as sent removes them from OpenSSL's list and leaks about 10 KB, so it is done last and only when needed.
  const sorted = sortedChain(socket, rootOf);
  // Node's list is longer when it follows names whose signatures do not fit.
  return sorted.chain.length < presented.chain.length ? presented : { ...presented, ...sorted };
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
