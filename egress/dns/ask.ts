import type { DnsServer } from '../../schemas/envValues.ts';
import { answers, buildQuery, keepsCase, type Query, RCODE, type Reply, readReply } from './message.ts';
import type { RecordType } from './record.ts';
import { exchangeTcp, exchangeUdp } from './transport.ts';

const RCODE_NAMES = new Map(Object.entries(RCODE).map(([name, code]) => [code, name]));
/** Response codes of servers that do not support EDNS (RFC 6891 section 7). */
const EDNS_REFUSALS: readonly number[] = [RCODE.FORMERR, RCODE.NOTIMP, RCODE.BADVERS];

async function exchange(server: DnsServer, query: Query, signal: AbortSignal): Promise<Reply> {
  const datagram = await exchangeUdp(server, query.bytes, (message) => answers(query, message), signal);
  if (keepsCase(query, datagram)) {
    const reply = readReply(datagram);
    if (!reply.truncated) return reply;
  }
  // The answer was truncated, or has the wrong case and may be forged. TCP is hard to forge.
  const message = await exchangeTcp(server, query.bytes, signal);
  if (!answers(query, message)) throw new Error('the answer over TCP is to another question');
  const reply = readReply(message);
  if (reply.truncated) throw new Error('the answer over TCP is truncated');
  return reply;
}

/** A server that does not recurse points elsewhere instead of answering (RFC 2308 section 2.1.1). */
const isReferral = (reply: Reply): boolean =>
  !reply.recursionAvailable &&
  reply.answers.length === 0 &&
  reply.authorities.some((record) => record.type === 'NS') &&
  !reply.authorities.some((record) => record.type === 'SOA');

/**
 * Queries one server once: by UDP, by TCP if needed, and again without EDNS if the server does not support it.
 *
 * @returns an answer with the code NOERROR or NXDOMAIN
 * @throws when the server gives another answer or none, and when the signal is aborted
 */
export async function ask(
  server: DnsServer,
  name: string,
  type: RecordType,
  signal: AbortSignal,
): Promise<Reply> {
  let reply = await exchange(server, buildQuery(name, type, true), signal);
  if (EDNS_REFUSALS.includes(reply.rcode))
    reply = await exchange(server, buildQuery(name, type, false), signal);
  if (reply.rcode !== RCODE.NOERROR && reply.rcode !== RCODE.NXDOMAIN)
    throw new Error(`the server answered ${RCODE_NAMES.get(reply.rcode) ?? `with code ${reply.rcode}`}`);
  if (isReferral(reply)) throw new Error('the server does not recurse');
  return reply;
}
