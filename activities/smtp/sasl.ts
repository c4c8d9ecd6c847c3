import { createHmac } from 'node:crypto';
import { MECHANISMS, type Mechanism } from '../../schemas/tools/smtp-test.ts';

export interface Credentials {
  username: string;
  password: string;
}

/** The client's side of a SASL exchange. */
export interface Exchange {
  /** What each challenge in its turn is answered with. */
  responses: ((challenge: Buffer) => string)[];
  /** The first of them may go with the command, before any challenge. */
  clientFirst: boolean;
}

const EXCHANGES: Record<Mechanism, (credentials: Credentials) => Exchange> = {
  /** RFC 4616 */
  PLAIN: ({ username, password }) => ({
    responses: [() => `\0${username}\0${password}`],
    clientFirst: true,
  }),
  /** draft-murchison-sasl-login; the challenges are prompts in whatever words. */
  LOGIN: ({ username, password }) => ({ responses: [() => username, () => password], clientFirst: false }),
  /** RFC 2195 */
  'CRAM-MD5': ({ username, password }) => ({
    responses: [(challenge) => `${username} ${createHmac('md5', password).update(challenge).digest('hex')}`],
    clientFirst: false,
  }),
  /** https://developers.google.com/gmail/imap/xoauth2-protocol; a challenge holds the error and is answered with nothing. */
  XOAUTH2: ({ username, password }) => ({
    responses: [() => `user=${username}\u0001auth=Bearer ${password}\u0001\u0001`, () => ''],
    clientFirst: true,
  }),
};

export const createExchange = (mechanism: Mechanism, credentials: Credentials): Exchange =>
  EXCHANGES[mechanism](credentials);

/** What shows no password to who listens comes first where anybody can. */
const IN_CLEAR: readonly Mechanism[] = ['CRAM-MD5', ...MECHANISMS.filter((name) => name !== 'CRAM-MD5')];

/** The mechanism to use: the one that is wanted, else the best that is offered; null where it is not offered. */
export function chooseMechanism(
  offered: readonly string[],
  wanted: Mechanism | undefined,
  encrypted: boolean,
): Mechanism | null {
  const candidates = wanted === undefined ? (encrypted ? MECHANISMS : IN_CLEAR) : [wanted];
  return candidates.find((name) => offered.includes(name)) ?? null;
}
