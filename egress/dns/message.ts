import { randomBytes, randomInt } from 'node:crypto';
import { AUTHENTIC_DATA, CHECKING_DISABLED, DNSSEC_OK, encode, RECURSION_DESIRED } from 'dns-packet';
import { type ExtendedError, readExtendedErrors } from './extendedErrors.ts';
import { readName } from './name.ts';
import { type DnsRecord, readData } from './record.ts';

/** DNS response codes (RFC 1035 section 4.1.1, RFC 6895 section 2.3). */
export const RCODE = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5, BADVERS: 16 };

const HEADER_BYTES = 12;
/** UDP payload size that avoids fragmentation on common paths (DNS flag day 2020). */
const UDP_PAYLOAD = 1232;
const INTERNET = 1;
const OPT = 41;

/** An encoded DNS query, and its question section, which the reply must repeat. */
export interface Query {
  bytes: Buffer;
  question: Buffer;
}

/** Randomizes the letter case of a name (draft-vixie-dnsext-dns0x20). A genuine reply repeats it; a forger must guess it. */
function randomCase(name: string): string {
  const coins = randomBytes(name.length);
  return Array.from(name, (character, index) =>
    (coins[index] ?? 0) & 1 ? character.toUpperCase() : character,
  ).join('');
}

/**
 * Encodes a recursive query with a random id.
 *
 * @param type code of the type
 * @param edns whether to announce EDNS (RFC 6891), which permits larger UDP replies; some old servers answer FORMERR to it
 * @param signed whether to ask for signatures and for records that the server finds bogus (RFC 4035 section 3.2)
 */
export function buildQuery(name: string, type: number, edns: boolean, signed = false): Query {
  const bytes = encode({
    type: 'query',
    id: randomInt(0x10000),
    // AD asks the server to report whether it validated the answer (RFC 6840 section 5.7).
    flags: RECURSION_DESIRED | (signed ? CHECKING_DISABLED : AUTHENTIC_DATA),
    questions: [{ name: randomCase(name), type: 'A' }],
    additionals: edns
      ? [
          {
            type: 'OPT',
            name: '.',
            udpPayloadSize: UDP_PAYLOAD,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: signed ? DNSSEC_OK : 0,
            flag_do: signed,
            options: [],
          },
        ]
      : [],
  });
  // dns-packet has no names for the newer types, so the type is written here.
  const nameEnd = HEADER_BYTES + (name === '.' ? 1 : name.length + 2);
  bytes.writeUInt16BE(type, nameEnd);
  return { bytes, question: bytes.subarray(HEADER_BYTES, nameEnd + 4) };
}

const questionOf = (query: Query, reply: Buffer): Buffer =>
  reply.subarray(HEADER_BYTES, HEADER_BYTES + query.question.length);

/** Whether a message is a reply to this query. Callers ignore other messages, which are stray or forged. */
export function answers(query: Query, reply: Buffer): boolean {
  if (reply.length < HEADER_BYTES || reply.readUInt16BE(0) !== query.bytes.readUInt16BE(0)) return false;
  const flags = reply.readUInt16BE(2);
  const isStandardResponse = (flags & 0xf800) === 0x8000;
  const questions = reply.readUInt16BE(4);
  const rcode = flags & 0xf;
  // A server that could not parse the query or refused it need not repeat the question section.
  if (questions === 0) return isStandardResponse && rcode !== RCODE.NOERROR && rcode !== RCODE.NXDOMAIN;
  const lower = (bytes: Buffer): string => bytes.toString('latin1').toLowerCase();
  return isStandardResponse && questions === 1 && lower(questionOf(query, reply)) === lower(query.question);
}

/** Whether a reply repeats the random letter case of the query, or has no question section. */
export const keepsCase = (query: Query, reply: Buffer): boolean =>
  reply.readUInt16BE(4) === 0 || questionOf(query, reply).equals(query.question);

/** The parts of a DNS reply that this service uses. */
export interface Reply {
  rcode: number;
  /** Whether the server truncated the reply; the records of a truncated reply are not parsed. */
  truncated: boolean;
  recursionAvailable: boolean;
  /** The server validated the answer by DNSSEC (RFC 4035 section 3.2.3). */
  authenticated: boolean;
  answers: DnsRecord[];
  authorities: DnsRecord[];
  /** Reasons for a failure that the server gives. */
  extendedErrors: ExtendedError[];
  /** The reply as it was received. */
  message: Buffer;
}

interface Section {
  records: DnsRecord[];
  /** Upper bits of the response code, from the OPT record (RFC 6891 section 6.1.3). */
  extendedRcode: number;
  extendedErrors: ExtendedError[];
  end: number;
}

function readSection(message: Buffer, start: number, count: number): Section {
  const section: Section = { records: [], extendedRcode: 0, extendedErrors: [], end: start };
  for (let index = 0; index < count; index++) {
    const { name: owner, end: fixed } = readName(message, section.end);
    const code = message.readUInt16BE(fixed);
    const ttl = message.readUInt32BE(fixed + 4);
    const dataStart = fixed + 10;
    section.end = dataStart + message.readUInt16BE(fixed + 8);
    if (section.end > message.length) throw new Error('record runs past the message');
    if (code === OPT) {
      section.extendedRcode = ttl >>> 24;
      section.extendedErrors = readExtendedErrors(message.subarray(dataStart, section.end));
    }
    if (message.readUInt16BE(fixed + 2) !== INTERNET) continue;
    const data = readData(message, code, dataStart, section.end);
    // RFC 2181 section 8: a TTL with the top bit set is treated as 0.
    if (data !== null) section.records.push({ ...data, owner, ttl: ttl > 0x7fffffff ? 0 : ttl });
  }
  return section;
}

/**
 * Parses a DNS reply. dns-packet 5.6 is not used for this, because the guard against private addresses relies on the exact
 * names and addresses: dns-packet decodes label bytes as UTF-8 and does not escape dots, checks neither the length of record
 * data nor the class, and rejects the whole reply when one record is malformed, whatever its type.
 *
 * @throws when the message is malformed
 */
export function readReply(message: Buffer): Reply {
  const flags = message.readUInt16BE(2);
  const reply: Reply = {
    rcode: flags & 0xf,
    truncated: (flags & 0x200) !== 0,
    recursionAvailable: (flags & 0x80) !== 0,
    authenticated: (flags & AUTHENTIC_DATA) !== 0,
    answers: [],
    authorities: [],
    extendedErrors: [],
    message,
  };
  if (reply.truncated) return reply;
  const questionEnd = message.readUInt16BE(4) === 0 ? HEADER_BYTES : readName(message, HEADER_BYTES).end + 4;
  const answer = readSection(message, questionEnd, message.readUInt16BE(6));
  const authority = readSection(message, answer.end, message.readUInt16BE(8));
  const additional = readSection(message, authority.end, message.readUInt16BE(10));
  return {
    ...reply,
    rcode: (additional.extendedRcode << 4) | reply.rcode,
    answers: answer.records,
    authorities: authority.records,
    extendedErrors: additional.extendedErrors,
  };
}
