import { SocketAddress } from 'node:net';
import { readName } from './name.ts';

/** Supported record types and their codes (IANA, DNS parameters). */
const TYPE_CODES = { A: 1, NS: 2, CNAME: 5, SOA: 6, MX: 15, TXT: 16, AAAA: 28, TLSA: 52 } as const;
export type RecordType = keyof typeof TYPE_CODES;

type RecordData =
  | { type: 'A' | 'AAAA'; address: string }
  | { type: 'NS'; value: string }
  | { type: 'CNAME'; value: string }
  | { type: 'MX'; exchange: string; priority: number }
  | { type: 'TXT'; chunks: Buffer[] }
  | { type: 'TLSA'; usage: number; selector: number; matchingType: number; association: Buffer }
  | {
      type: 'SOA';
      mname: string;
      rname: string;
      serial: number;
      refresh: number;
      retry: number;
      expire: number;
      minimum: number;
    };

/** A DNS resource record. `ttl` is in seconds; names have the form that {@link readName} returns. */
export type DnsRecord = RecordData & { owner: string; ttl: number };

function nameThatFills(message: Buffer, start: number, end: number): string {
  const read = readName(message, start);
  if (read.end !== end) throw new Error('name does not fill its record');
  return read.name;
}

function addressBytes(message: Buffer, start: number, end: number, length: number): Buffer {
  if (end - start !== length) throw new Error('address of the wrong length');
  return message.subarray(start, end);
}

function ipv6Text(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16));
  return new SocketAddress({ family: 'ipv6', address: groups.join(':') }).address;
}

function readChunks(message: Buffer, start: number, end: number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let offset = start; offset < end; ) {
    const next = offset + 1 + message.readUInt8(offset);
    if (next > end) throw new Error('character string runs past its record');
    // Copied, because a cached view of the message would keep the whole message in memory.
    chunks.push(Buffer.from(message.subarray(offset + 1, next)));
    offset = next;
  }
  if (chunks.length === 0) throw new Error('TXT without a character string');
  return chunks;
}

function readTlsa(message: Buffer, start: number, end: number): RecordData {
  if (end - start < 4) throw new Error('TLSA of the wrong length');
  return {
    type: 'TLSA',
    usage: message.readUInt8(start),
    selector: message.readUInt8(start + 1),
    matchingType: message.readUInt8(start + 2),
    association: Buffer.from(message.subarray(start + 3, end)),
  };
}

function readSoa(message: Buffer, start: number, end: number): RecordData {
  const mname = readName(message, start);
  const rname = readName(message, mname.end);
  if (rname.end + 20 !== end) throw new Error('SOA of the wrong length');
  const number = (index: number): number => message.readUInt32BE(rname.end + 4 * index);
  return {
    type: 'SOA',
    mname: mname.name,
    rname: rname.name,
    serial: number(0),
    refresh: number(1),
    retry: number(2),
    expire: number(3),
    minimum: number(4),
  };
}

/**
 * Parses the data of a record (RFC 1035 section 3.3, RFC 3596, RFC 6698) between `start` and `end` of the message.
 *
 * @returns null for an unsupported record type
 * @throws Error when the data is malformed or does not end exactly at `end`
 */
export function readData(message: Buffer, code: number, start: number, end: number): RecordData | null {
  switch (code) {
    case TYPE_CODES.A:
      return { type: 'A', address: addressBytes(message, start, end, 4).join('.') };
    case TYPE_CODES.AAAA:
      return { type: 'AAAA', address: ipv6Text(addressBytes(message, start, end, 16)) };
    case TYPE_CODES.NS:
      return { type: 'NS', value: nameThatFills(message, start, end) };
    case TYPE_CODES.CNAME:
      return { type: 'CNAME', value: nameThatFills(message, start, end) };
    case TYPE_CODES.MX:
      return {
        type: 'MX',
        exchange: nameThatFills(message, start + 2, end),
        priority: message.readUInt16BE(start),
      };
    case TYPE_CODES.TXT:
      return { type: 'TXT', chunks: readChunks(message, start, end) };
    case TYPE_CODES.TLSA:
      return readTlsa(message, start, end);
    case TYPE_CODES.SOA:
      return readSoa(message, start, end);
    default:
      return null;
  }
}
