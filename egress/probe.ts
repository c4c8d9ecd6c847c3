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
interface Presented {
  /** The server's certificate, its issuer and so on, as far as they were sent or are trusted roots. DER; never empty. */
  chain: readonly Buffer[];
  /** Whether the server's chain has more certificates than `chain` contains. */
  truncated: boolean;
  /** OpenSSL's verification error, such as CERT_HAS_EXPIRED; null when the chain is valid and ends at a trusted root. */
  chainError: string | null;
  /** OpenSSL's name of the protocol version, such as `TLSv1.3`. */
  protocol: string;
}

/** Maximum number of certificates to return. Clients verify only shorter chains; OpenSSL accepts about 100 KB of them. */
const MAX_CHAIN = 100;

/**
 * Key exchange groups in the notation of OpenSSL's SSL_CTX_set1_groups_list: first its own defaults, then all others, for servers
 * that accept nothing else. Those that this build does not know are ignored (`?`); key shares are sent of the first two (`*`).
 */
const GROUPS = [
  '?*X25519MLKEM768/?*X25519:?secp256r1/?X448:?secp384r1:?secp521r1/?ffdhe2048:?ffdhe3072',
  '?SecP256r1MLKEM768:?SecP384r1MLKEM1024:?MLKEM512:?MLKEM768:?MLKEM1024:?ffdhe4096:?ffdhe6144:?ffdhe8192',
  '?brainpoolP256r1tls13:?brainpoolP384r1tls13:?brainpoolP512r1tls13:?brainpoolP256r1:?brainpoolP384r1:?brainpoolP512r1',
  '?secp256k1:?secp224r1:?secp224k1:?secp192r1:?secp192k1:?secp160r1:?secp160r2:?secp160k1:?sect571r1:?sect571k1:?sect409r1',
  '?sect409k1:?sect283r1:?sect283k1:?sect239k1:?sect233r1:?sect233k1:?sect193r1:?sect193r2:?sect163r1:?sect163r2:?sect163k1',
].join('/');

/**
 * TLS options that permit the oldest protocol and the weakest ciphers of this OpenSSL build, so that the certificates of
 * servers with outdated settings can be reported as well.
 */
export const ANYTHING = {
  verify: 'report',
  minVersion: 'TLSv1',
  // Excludes anonymous ciphers (aNULL), with which a server sends no certificate.
  ciphers: 'ALL:!aNULL:@SECLEVEL=0',
  ecdhCurve: GROUPS,
  minDHSize: 1,
  // Permits servers without secure renegotiation (RFC 5746).
  secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
} as const;

/** Permits ciphers without encryption (eNULL) as the last choice: no secret is sent, only certificates are read. */
const ANY_CIPHER = 'ALL:eNULL:!aNULL:@SECLEVEL=0';

type Chain = Pick<Presented, 'chain' | 'truncated'>;

function chainOf(socket: TLSSocket): Chain {
  const chain: Buffer[] = [];
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  // Node returns an empty object before a certificate has arrived. A root is its own issuer, which ends the loop.
  while (next?.raw !== undefined) {
    const { raw } = next;
    if (chain.some((seen) => seen.equals(raw))) break;
    if (chain.length === MAX_CHAIN) return { chain, truncated: true };
    chain.push(raw);
    next = next.issuerCertificate;
  }
  return { chain, truncated: false };
}

function read(socket: TLSSocket, chainError: string | null): Presented | null {
  const chain = chainOf(socket);
  if (chain.chain.length === 0) return null;
  return { ...chain, chainError, protocol: socket.getProtocol() ?? '' };
}

const isSelfIssued = (der: Buffer | undefined): boolean => {
  if (der === undefined) return false;
  const { subject, issuer } = new X509Certificate(der);
  return subject === issuer;
};

/**
 * Sorts the certificates that the server sent, so that each is followed by its issuer, and adds the trusted root if the
 * server omitted it. A certificate counts as issuer if name and signature match, even if it is not permitted to issue.
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

/** Reads the certificates that a server sent in a handshake; null if they are not X.509. Call this once per socket. */
export function presentedBy(socket: TLSSocket, vetted: Vetted, rootOf: RootOf): Presented | null {
  const presented = read(socket, certificateFaults(socket, vetted).chain);
  if (presented === null || presented.truncated || isSelfIssued(presented.chain.at(-1))) return presented;
  // The chain of Node's getPeerCertificate ends early when the issuer that Node found was the last certificate sent, or is
  // not permitted to issue. getPeerX509Certificate returns the certificates as sent, but removes them from OpenSSL's list
  // and leaks about 10 KB, so it is called last and only when needed.
  const sorted = sortedChain(socket, rootOf);
  // `presented` is the chain of getPeerCertificate, which links certificates by the names of their issuers. It can be longer
  // than `sorted`, whose signatures were checked, and is then kept, because it is what the server sent.
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
      if (chainError !== undefined) early = read(secure, chainError) ?? early;
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
