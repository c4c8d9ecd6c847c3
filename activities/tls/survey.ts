import { once } from 'node:events';
import { failureKind } from '../../egress/failure.ts';
import type { Guard, Socket, TLSSocket } from '../../egress/guard.ts';
import { ANYTHING } from '../../egress/probe.ts';
import type { Vetted } from '../../egress/vet.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { mapConcurrent } from '../links/mapConcurrent.ts';
import { encodeClientHello, type Offer, type Version } from './clientHello.ts';
import { CIPHER_SUITES, CIPHER_SUITES_13, GROUPS } from './registry.ts';
import { type Choice, createAnswerReader } from './serverHello.ts';

/** The TLS parameters that a server accepts; lists are in the server's order of preference. */
export interface Offered {
  protocols: { version: Version; cipherSuites: string[] }[];
  groups: string[];
  alpn: (typeof ALPN_PROTOCOLS)[number][];
  ocspStapling: boolean;
}

interface Limits {
  signal: AbortSignal;
  /** Epoch milliseconds, for all connections together. */
  deadline: number;
}
type Egress = Pick<Guard, 'connect' | 'startTls'>;

/** Maximum number of concurrent connections. Servers may limit the connections from one IP address. */
const CONCURRENCY = 4;
const OLD_VERSIONS = ['SSLv3', 'TLSv1', 'TLSv1.1', 'TLSv1.2'] as const;
const ALPN_PROTOCOLS = ['h2', 'http/1.1'] as const;
/** Kinds of connection failures by which a server refuses the offered TLS parameters. */
const REFUSALS: ReadonlySet<string | null> = new Set(['tls', 'reset']);

/** Sends one ClientHello on a new connection. @returns what the server selected; null when it refuses the offer */
async function offerOnce(
  egress: Egress,
  vetted: Vetted,
  offer: Omit<Offer, 'serverName'>,
  limits: Limits,
  wholeFlight: boolean,
): Promise<Choice | null> {
  const { host } = vetted.target;
  const socket: Socket = await egress.connect(vetted, limits);
  const reader = createAnswerReader(wholeFlight);
  const time = AbortSignal.timeout(Math.max(0, limits.deadline - Date.now()));
  const signal = AbortSignal.any([limits.signal, time]);
  const closed = once(socket, 'close', { signal }).catch(() => undefined);
  try {
    const answered = Promise.withResolvers<void>();
    socket.on('data', (bytes: Buffer) => {
      try {
        if (reader.add(bytes)) answered.resolve();
      } catch {
        answered.resolve(); // An answer that cannot be parsed counts as a refusal.
      }
    });
    socket.write(encodeClientHello({ ...offer, serverName: host.kind === 'name' ? host.name : null }));
    await Promise.race([answered.promise, closed]);
    limits.signal.throwIfAborted();
    if (time.aborted) throw new ServiceError('target_timeout');
    return reader.choice;
  } finally {
    socket.destroy();
  }
}

/** Offers all values, then all except those chosen so far, until the server refuses. @returns the values in chosen order */
async function exhaust<T>(all: readonly T[], ask: (left: readonly T[]) => Promise<T | null>): Promise<T[]> {
  const left = new Set(all);
  const chosen: T[] = [];
  while (left.size > 0) {
    const choice = await ask([...left]);
    if (choice === null || !left.delete(choice)) break;
    chosen.push(choice);
  }
  return chosen;
}

const namesOf = (codes: readonly number[], names: ReadonlyMap<number, string>): string[] =>
  codes.map((code) => names.get(code) ?? `0x${code.toString(16).padStart(4, '0')}`);

/** Performs a TLS handshake with Node's client. @returns the result of `read`; null when the server refuses the handshake */
async function shake<T>(
  egress: Egress,
  vetted: Vetted,
  limits: Limits,
  options: { ALPNProtocols?: string[]; requestOCSP?: boolean },
  read: (socket: TLSSocket) => T,
  observe?: (socket: TLSSocket) => void,
): Promise<T | null> {
  const socket = await egress.connect(vetted, limits);
  try {
    const wanted = observe === undefined ? {} : { observe };
    return read(await egress.startTls(socket, vetted, { ...ANYTHING, ...limits, ...options, ...wanted }));
  } catch (error) {
    if (REFUSALS.has(failureKind(error))) return null;
    throw error;
  } finally {
    socket.destroy();
  }
}

/**
 * Finds out which protocols, cipher suites, groups and extensions a server accepts, with one connection for each offer.
 *
 * @throws ServiceError `target_failed`, `target_timeout`; the signal's reason
 */
export async function surveyTls(egress: Egress, vetted: Vetted, limits: Limits): Promise<Offered> {
  const suitesOf = (version: Version): Promise<number[]> => {
    const suites = version === 'TLSv1.3' ? CIPHER_SUITES_13 : CIPHER_SUITES;
    return exhaust([...suites.keys()], async (cipherSuites) => {
      const offer = { version, cipherSuites, groups: [...GROUPS.keys()] };
      const choice = await offerOnce(egress, vetted, offer, limits, false);
      return choice?.version === version ? choice.cipherSuite : null;
    });
  };
  const groupsOf = (version: Version, cipherSuites: readonly number[]): Promise<number[]> =>
    exhaust([...GROUPS.keys()], async (groups) => {
      const offer = { version, cipherSuites, groups };
      const choice = await offerOnce(egress, vetted, offer, limits, true);
      return choice?.version === version ? choice.group : null;
    });

  const versions: Version[] = [...OLD_VERSIONS, 'TLSv1.3'];
  const found = await mapConcurrent(versions, CONCURRENCY, limits.signal, async (version) => {
    const suites = await suitesOf(version);
    const names = version === 'TLSv1.3' ? CIPHER_SUITES_13 : CIPHER_SUITES;
    const elliptic = suites.filter(
      (code) => version === 'TLSv1.3' || names.get(code)?.startsWith('TLS_ECDH'),
    );
    const groups = elliptic.length === 0 || version === 'SSLv3' ? [] : await groupsOf(version, elliptic);
    return { version, cipherSuites: namesOf(suites, names), groups };
  });

  const alpn = await mapConcurrent(ALPN_PROTOCOLS, CONCURRENCY, limits.signal, (protocol) =>
    shake(egress, vetted, limits, { ALPNProtocols: [protocol] }, ({ alpnProtocol }) =>
      alpnProtocol === protocol ? protocol : null,
    ),
  );
  let stapled = false;
  await shake(
    egress,
    vetted,
    limits,
    { requestOCSP: true },
    () => undefined,
    (socket) =>
      socket.on('OCSPResponse', (response: Buffer | null) => {
        stapled = (response?.length ?? 0) > 0;
      }),
  );
  return {
    protocols: found
      .filter(({ cipherSuites }) => cipherSuites.length > 0)
      .map(({ version, cipherSuites }) => ({ version, cipherSuites })),
    groups: namesOf([...new Set(found.toReversed().flatMap(({ groups }) => groups))], GROUPS),
    alpn: alpn.filter((protocol) => protocol !== null),
    ocspStapling: stapled,
  };
}
