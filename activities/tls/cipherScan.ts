import type { Limits } from '../../egress/clock.ts';
import { targetFailed } from '../../egress/failure.ts';
import type { Guard } from '../../egress/guard.ts';
import type { Vetted } from '../../egress/vet.ts';
import { mapConcurrent } from '../links/mapConcurrent.ts';
import { type AskServer, createAskServer } from './askServer.ts';
import type { Version } from './clientHello.ts';
import { encryptedExtensions } from './encryptedExtensions.ts';
import {
  CIPHER_SUITES,
  CIPHER_SUITES_13,
  CURVES,
  GROUPS,
  GROUPS_13,
  OLD_GROUPS,
  RARE_CIPHER_SUITES,
} from './registry.ts';

/** The TLS parameters that a server accepts; lists are in the order in which the server chose them. */
export interface Offered {
  protocols: { version: Version; cipherSuites: string[] }[];
  groups: string[];
  alpn: (typeof ALPN_PROTOCOLS)[number][];
  ocspStapling: boolean;
}

/** The cipher suites and groups of one protocol version that a server accepts, as codes. */
interface Accepted {
  version: Version;
  cipherSuites: number[];
  groups: number[];
}

const ALL_VERSIONS = ['SSLv3', 'TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const satisfies Version[];
const ALPN_PROTOCOLS = ['h2', 'http/1.1'] as const;
const SUITES_13 = [...CIPHER_SUITES_13.keys()];
/** Cipher suites of the older versions, in portions that are offered separately. */
const OLD_SUITES = [[...CIPHER_SUITES.keys()], [...RARE_CIPHER_SUITES.keys()]];
const SUITE_NAMES = new Map([...CIPHER_SUITES, ...RARE_CIPHER_SUITES, ...CIPHER_SUITES_13]);
/** Matches suites whose key exchange uses an elliptic curve that the server chooses for each connection. */
const EPHEMERAL_CURVE = /^TLS_ECDH(?:E|_anon)_/;

/** Offers all values, then all except those chosen so far, until the server refuses. @returns the values in chosen order */
async function exhaust(
  all: readonly number[],
  choose: (left: readonly number[]) => Promise<number | null>,
): Promise<number[]> {
  const left = new Set(all);
  const chosen: number[] = [];
  while (left.size > 0) {
    const choice = await choose([...left]);
    if (choice === null || !left.delete(choice)) break;
    chosen.push(choice);
  }
  return chosen;
}

const namesOf = (codes: readonly number[], names: ReadonlyMap<number, string>): string[] =>
  codes.map((code) => names.get(code) ?? `0x${code.toString(16).padStart(4, '0')}`);

/** Finds the cipher suites and groups that a server accepts with one protocol version. */
async function scanVersion(ask: AskServer, version: Version, signal: AbortSignal): Promise<Accepted> {
  const is13 = version === 'TLSv1.3';
  const choose = async (
    offer: { cipherSuites: readonly number[]; groups: readonly number[] },
    wholeFlight: boolean,
  ) => {
    const choice = await ask({ ...offer, version }, { signal, wholeFlight });
    return choice?.version === version ? choice : null;
  };

  const cipherSuites: number[] = [];
  for (const portion of is13 ? [SUITES_13] : OLD_SUITES) {
    const chosen = await exhaust(portion, async (left) => {
      const offer = { cipherSuites: left, groups: is13 ? GROUPS_13 : OLD_GROUPS };
      return (await choose(offer, false))?.cipherSuite ?? null;
    });
    cipherSuites.push(...chosen);
  }
  const elliptic = cipherSuites.filter((code) => EPHEMERAL_CURVE.test(SUITE_NAMES.get(code) ?? ''));
  const offered = is13 ? cipherSuites : elliptic;
  if (offered.length === 0) return { version, cipherSuites, groups: [] };

  const choice = async (groups: readonly number[]): Promise<number | null> =>
    (await choose({ cipherSuites: offered, groups }, true))?.group ?? null;
  if (version === 'SSLv3') {
    // A ClientHello of SSL 3.0 has no extensions and names no groups: the server always uses the same curve.
    const curve = await choice([]);
    return { version, cipherSuites, groups: curve === null ? [] : [curve] };
  }
  const all = is13 ? GROUPS_13 : CURVES;
  const groups = await exhaust(all, choice);
  if (is13) return { version, cipherSuites, groups };
  // Up to TLS 1.2, a client must also support the curve of the server's certificate, which may be among those chosen so far.
  // These are therefore offered again, as the client's last preference.
  const rest = all.filter((code) => !groups.includes(code));
  const further = await exhaust(rest, (left) => choice([...left, ...groups]));
  return { version, cipherSuites, groups: [...groups, ...further] };
}

/** The version at which the extensions are asked for: TLS 1.2, whose answers need no decryption, else the newest. */
const versionForExtensions = (accepted: readonly Accepted[]): Accepted | undefined =>
  accepted.find(({ version }) => version === 'TLSv1.2') ?? accepted.at(-1);

/**
 * Finds out which protocols, cipher suites, groups and extensions a server accepts, with one connection for each offer.
 *
 * @throws ServiceError `target_failed`, `target_timeout`; the signal's reason
 */
export async function scanCiphers(
  egress: Pick<Guard, 'connect' | 'startTls'>,
  vetted: Vetted,
  limits: Limits,
): Promise<Offered> {
  const ask = createAskServer(egress, vetted, limits);
  const all = await mapConcurrent(ALL_VERSIONS, ALL_VERSIONS.length, limits.signal, (version, signal) =>
    scanVersion(ask, version, signal),
  );
  const accepted = all.filter(({ cipherSuites }) => cipherSuites.length > 0);
  const best = versionForExtensions(accepted);
  if (best === undefined)
    throw targetFailed('tls', { detail: 'The target refused all handshakes of the cipher scan.' });

  const { version, cipherSuites } = best;
  const { signal } = limits;
  const offer = { version, cipherSuites, groups: version === 'TLSv1.3' ? best.groups : OLD_GROUPS };
  const found: { alpn: string | null; stapled: boolean }[] = [];
  for (const alpn of [...ALPN_PROTOCOLS, null]) {
    const answer =
      version === 'TLSv1.3'
        ? await encryptedExtensions(egress, vetted, limits, { ...offer, alpn })
        : await ask({ ...offer, alpn, requestOcsp: true }, { signal, wholeFlight: true });
    if (answer !== null) found.push(answer);
  }
  // The server has accepted this offer before. If it refuses now, its other answers cannot be relied on either.
  if ((await ask(offer, { signal })) === null)
    throw targetFailed('tls', { detail: 'The target stopped answering during the cipher scan.' });

  return {
    protocols: accepted.map((each) => ({
      version: each.version,
      cipherSuites: namesOf(each.cipherSuites, SUITE_NAMES),
    })),
    groups: namesOf([...new Set(all.toReversed().flatMap(({ groups }) => groups))], GROUPS),
    alpn: ALPN_PROTOCOLS.filter((protocol) => found.some(({ alpn }) => alpn === protocol)),
    ocspStapling: found.some(({ stapled }) => stapled),
  };
}
