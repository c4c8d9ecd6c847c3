import { createHmac } from 'node:crypto';
import { MECHANISMS, type Mechanism } from '../../schemas/tools/smtp-test.ts';

export interface Credentials {
  username: string;
  password: string;
}

/** The client side of a SASL exchange. */
interface Exchange {
  /** Functions that answer the challenges, in order. */
  responses: ((challenge: Buffer) => string)[];
  /** Whether the first response may be sent in the AUTH command, before any challenge. */
  clientFirst: boolean;
}

const EXCHANGES: Record<Mechanism, (credentials: Credentials) => Exchange> = {
  /** RFC 4616 */
  PLAIN: ({ username, password }) => ({
    responses: [() => `\0${username}\0${password}`],
    clientFirst: true,
  }),
  /** draft-murchison-sasl-login; the server's challenges are prompts with arbitrary text. */
  LOGIN: ({ username, password }) => ({ responses: [() => username, () => password], clientFirst: false }),
  /** RFC 2195 */
  'CRAM-MD5': ({ username, password }) => ({
    responses: [(challenge) => `${username} ${createHmac('md5', password).update(challenge).digest('hex')}`],
    clientFirst: false,
  }),
  /** https://developers.google.com/gmail/imap/xoauth2-protocol; a challenge reports an error, and the response is empty. */
  XOAUTH2: ({ username, password }) => ({
    responses: [() => `user=${username}\u0001auth=Bearer ${password}\u0001\u0001`, () => ''],
    clientFirst: true,
  }),
};

export const createExchange = (mechanism: Mechanism, credentials: Credentials): Exchange =>
  EXCHANGES[mechanism](credentials);

/** Mechanisms in order of preference without TLS: those that do not expose the password come first. */
const WITHOUT_TLS: readonly Mechanism[] = ['CRAM-MD5', ...MECHANISMS.filter((name) => name !== 'CRAM-MD5')];

/** Returns the wanted mechanism, or the best one if `wanted` is undefined; null if the server does not offer it. */
export function chooseMechanism(
  offered: readonly string[],
  wanted: Mechanism | undefined,
  encrypted: boolean,
): Mechanism | null {
  const candidates = wanted === undefined ? (encrypted ? MECHANISMS : WITHOUT_TLS) : [wanted];
  return candidates.find((name) => offered.includes(name)) ?? null;
}
