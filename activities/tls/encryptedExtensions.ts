import { type Limits, startClock } from '../../egress/clock.ts';
import { failureKind } from '../../egress/failure.ts';
import type { Guard } from '../../egress/guard.ts';
import { ANYTHING } from '../../egress/probe.ts';
import type { Vetted } from '../../egress/vet.ts';
import { CIPHER_SUITES_13, GROUPS } from './registry.ts';

/** Milliseconds for one handshake. */
const HANDSHAKE_MS = 5_000;

const namesOf = (codes: readonly number[], names: ReadonlyMap<number, string>): string =>
  codes.flatMap((code) => names.get(code) ?? []).join(':');

/**
 * Performs a handshake of TLS 1.3 with Node's client, because the server encrypts its extensions and certificates.
 *
 * @param offer cipher suites and groups that the server accepts, and the application protocol to offer, if any
 * @returns the protocol that the server selected and whether it stapled an OCSP response; null when the handshake fails
 * @throws ServiceError `target_timeout`; the signal's reason
 */
export async function encryptedExtensions(
  egress: Pick<Guard, 'connect' | 'startTls'>,
  vetted: Vetted,
  limits: Limits,
  {
    cipherSuites,
    groups,
    alpn,
  }: { cipherSuites: readonly number[]; groups: readonly number[]; alpn: string | null },
): Promise<{ alpn: string | null; stapled: boolean } | null> {
  using whole = startClock(limits);
  using clock = startClock({
    signal: whole.signal,
    deadline: Math.min(limits.deadline, Date.now() + HANDSHAKE_MS),
  });
  let stapled = false;
  try {
    const socket = await egress.connect(vetted, clock);
    try {
      const secure = await egress.startTls(socket, vetted, {
        ...ANYTHING,
        minVersion: 'TLSv1.3',
        ciphers: `${namesOf(cipherSuites, CIPHER_SUITES_13)}:${ANYTHING.ciphers}`,
        ecdhCurve: namesOf(groups, GROUPS),
        ...(alpn === null ? {} : { ALPNProtocols: [alpn] }),
        requestOCSP: true,
        signal: clock.signal,
        deadline: clock.deadline,
        observe: (it) =>
          it.on('OCSPResponse', (response: Buffer | null) => {
            stapled = (response?.length ?? 0) > 0;
          }),
      });
      return { alpn: secure.alpnProtocol === false ? null : secure.alpnProtocol, stapled };
    } finally {
      socket.destroy();
    }
  } catch (error) {
    if (whole.signal.aborted) throw whole.signal.reason;
    if (clock.signal.aborted || failureKind(error) !== null) return null;
    throw error;
  }
}
