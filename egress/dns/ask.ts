import type { DnsServer } from '../../schemas/envValues.ts';
import { explainError } from './extendedErrors.ts';
import { answers, buildQuery, keepsCase, type Query, RCODE, type Reply, readReply } from './message.ts';
import { queryTcp, queryUdp } from './transport.ts';

const RCODE_NAMES = new Map(Object.entries(RCODE).map(([name, code]) => [code, name]));
/** A DNS server that does not give an answer, with its reason in words for the caller. */
export class UnusableReply extends Error {
  override readonly name = 'UnusableReply';
}

/** Response codes of servers that do not support EDNS (RFC 6891 section 7). */
const EDNS_REFUSALS: readonly number[] = [RCODE.FORMERR, RCODE.NOTIMP, RCODE.BADVERS];

async function sendQuery(server: DnsServer, query: Query, signal: AbortSignal): Promise<Reply> {
  const datagram = await queryUdp(server, query.bytes, (message) => answers(query, message), signal);
  if (keepsCase(query, datagram)) {
    const reply = readReply(datagram);
    if (!reply.truncated) return reply;
  }
  // The UDP reply was truncated, or does not repeat the query's letter case and may be forged. A TCP reply is hard to forge.
  const message = await queryTcp(server, query.bytes, signal);
  if (!answers(query, message)) throw new Error('the reply over TCP does not match the query');
  const reply = readReply(message);
  if (reply.truncated) throw new Error('the reply over TCP is truncated');
  return reply;
}

/** Whether a reply is a referral, by which a server that does not recurse points to other servers (RFC 2308, 2.2). */
const isReferral = (reply: Reply): boolean =>
  !reply.recursionAvailable &&
  reply.answers.length === 0 &&
  reply.authorities.some((record) => record.type === 'NS') &&
  !reply.authorities.some((record) => record.type === 'SOA');

/**
 * Sends one query to one DNS server: over UDP, over TCP if the UDP reply cannot be used, and once more without EDNS if the
 * server does not support EDNS.
 *
 * @param type code of the type
 * @param signed whether to ask for signatures, which needs EDNS
 * @returns a reply with the response code NOERROR or NXDOMAIN
 * @throws UnusableReply when the server sends another response code; Error when it sends a referral or no valid reply, and
 *   when the signal aborts
 */
export async function ask(
  server: DnsServer,
  name: string,
  type: number,
  signal: AbortSignal,
  signed = false,
): Promise<Reply> {
  let reply = await sendQuery(server, buildQuery(name, type, true, signed), signal);
  if (EDNS_REFUSALS.includes(reply.rcode) && !signed)
    reply = await sendQuery(server, buildQuery(name, type, false), signal);
  if (reply.rcode !== RCODE.NOERROR && reply.rcode !== RCODE.NXDOMAIN)
    throw new UnusableReply(
      [
        RCODE_NAMES.get(reply.rcode) ?? `response code ${reply.rcode}`,
        ...reply.extendedErrors.map(explainError),
      ].join(', '),
    );
  if (isReferral(reply)) throw new Error('the server does not recurse');
  return reply;
}
