import { constants, type X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { Limits } from './clock.ts';
import { failureKind, targetFailed } from './failure.ts';
import type { Guard } from './guard.ts';
import { peerCertificates } from './peerCertificates.ts';
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

const isSelfIssued = ({ subject, issuer }: X509Certificate): boolean => subject === issuer;

/**
 * Sorts the certificates that a server sent, so that each is followed by its issuer, and adds the trusted root if the server
 * omitted it. Those that are no issuer of another one are left out.
 *
 * @param kinds what makes a certificate an issuer; a later one counts where no certificate fulfils an earlier one, nor a root
 */
function sortedChain(
  sent: readonly X509Certificate[],
  rootOf: RootOf,
  ...kinds: readonly (typeof issued)[]
): X509Certificate[] {
  const rest = [...sent];
  const chain = rest.splice(0, 1);
  for (const last of chain) {
    if (isSelfIssued(last)) break;
    const take = (is: typeof issued | undefined): X509Certificate | undefined => {
      const at = rest.findIndex((certificate) => is?.(certificate, last));
      return at === -1 ? undefined : rest.splice(at, 1)[0];
    };
    const next = take(kinds[0]) ?? rootOf(last) ?? take(kinds[1]);
    if (next !== undefined && !next.raw.equals(last.raw)) chain.push(next);
  }
  return chain;
}

/** Whether one certificate names the other as its issuer. */
const named = (issuer: X509Certificate, certificate: X509Certificate): boolean =>
  certificate.checkIssued(issuer);

function read(socket: TLSSocket, chainError: string | null, rootOf: RootOf): Presented | null {
  const sent = peerCertificates(socket);
  if (sent === null) return null;
  const { certificates, truncated } = sent;
  const verified = sortedChain(certificates, rootOf, issued, signed);
  // A chain by names only can be longer than one whose signatures were checked, and is then shown, because the server sent it.
  const byName = sortedChain(certificates, rootOf, named);
  const chain = (byName.length > verified.length ? byName : verified).map(({ raw }) => raw);
  return { chain, truncated, chainError, protocol: socket.getProtocol() ?? '' };
}

/** Reads the certificates that a server sent in a handshake; null if they are not X.509. */
export const presentedBy = (socket: TLSSocket, vetted: Vetted, rootOf: RootOf): Presented | null =>
  read(socket, certificateFaults(socket, vetted).chain, rootOf);

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
      if (chainError !== undefined) early = read(secure, chainError, egress.rootOf) ?? early;
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
