import type { Offered } from './cipherScan.ts';

type Grade = 'A+' | 'A' | 'B' | 'C' | 'F';

/** `TLS_SHA…` are the suites of TLS 1.3 without encryption (RFC 9150). */
const BROKEN_SUITE = /_NULL_|_EXPORT|_anon_|_WITH_(?:RC4|RC2|DES)_|^TLS_SHA/;
const OLD_SUITE = /_3DES_|_IDEA_|_SEED_/;
const FORWARD_SECRET = /^TLS_(?:DHE|ECDHE|AES|CHACHA20)_/;
const POST_QUANTUM = /MLKEM/;

/** Whether a key exchange group is secure against quantum computers. */
export const isPostQuantum = (group: string): boolean => POST_QUANTUM.test(group);

/**
 * Grades the protocols, cipher suites and key exchange groups that a server accepts. The first rule that applies decides:
 *
 * - F: SSL 3.0, or a cipher suite without encryption, without authentication, of export strength, with RC4, RC2 or DES
 * - C: no TLS 1.2 or newer, or a suite with 3DES, IDEA or SEED
 * - B: TLS 1.0 or 1.1, no TLS 1.3, or a suite without forward secrecy
 * - A+: a post-quantum key exchange
 * - A: everything else
 *
 * The certificate does not affect the grade.
 */
export function grade({ protocols, groups }: Offered): Grade {
  const versions = new Set(protocols.map(({ version }) => version));
  const suites = protocols.flatMap(({ cipherSuites }) => cipherSuites);
  if (versions.has('SSLv3') || suites.some((suite) => BROKEN_SUITE.test(suite))) return 'F';
  const isModern = versions.has('TLSv1.2') || versions.has('TLSv1.3');
  if (!isModern || suites.some((suite) => OLD_SUITE.test(suite))) return 'C';
  const isOld = versions.has('TLSv1') || versions.has('TLSv1.1') || !versions.has('TLSv1.3');
  if (isOld || suites.some((suite) => !FORWARD_SECRET.test(suite))) return 'B';
  return groups.some(isPostQuantum) ? 'A+' : 'A';
}
