import { type DelegationData, type KeyData, readDelegation, readKey } from './keys.ts';
import { readName } from './name.ts';
import { ipv6Text, readService, type ServiceData } from './service.ts';

/** Supported record types and their codes (IANA, DNS parameters). */
export const TYPE_CODES = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  DS: 43,
  DNSKEY: 48,
  TLSA: 52,
  SVCB: 64,
  HTTPS: 65,
  CAA: 257,
} as const;
export type RecordType = keyof typeof TYPE_CODES;

type RecordData =
  | { type: 'A' | 'AAAA'; address: string }
  | { type: 'NS'; value: string }
  | { type: 'CNAME'; value: string }
  | { type: 'PTR'; value: string }
  | { type: 'MX'; exchange: string; priority: number }
  | { type: 'TXT'; chunks: Buffer[] }
  | { type: 'SRV'; priority: number; weight: number; port: number; target: string }
  | { type: 'CAA'; flags: number; tag: string; value: Buffer }
  | ({ type: 'SVCB' | 'HTTPS' } & ServiceData)
  | ({ type: 'DS' } & DelegationData)
  | ({ type: 'DNSKEY' } & KeyData)
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

/** RFC 8659 section 4.1 */
function readCaa(data: Buffer): RecordData {
  const tagEnd = 2 + data.readUInt8(1);
  if (tagEnd === 2 || tagEnd > data.length) throw new Error('CAA with a tag of the wrong length');
  return {
    type: 'CAA',
    flags: data.readUInt8(0),
    tag: data.toString('latin1', 2, tagEnd),
    value: Buffer.from(data.subarray(tagEnd)),
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
 * Parses the data of a record (RFC 1035 section 3.3, RFC 3596, RFC 6698, RFC 2782) between `start` and `end` of the message.
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
    case TYPE_CODES.PTR:
      return { type: 'PTR', value: nameThatFills(message, start, end) };
    case TYPE_CODES.SRV:
      return {
        type: 'SRV',
        priority: message.readUInt16BE(start),
        weight: message.readUInt16BE(start + 2),
        port: message.readUInt16BE(start + 4),
        target: nameThatFills(message, start + 6, end),
      };
    case TYPE_CODES.CAA:
      return readCaa(message.subarray(start, end));
    case TYPE_CODES.SVCB:
      return { type: 'SVCB', ...readService(message, start, end) };
    case TYPE_CODES.HTTPS:
      return { type: 'HTTPS', ...readService(message, start, end) };
    case TYPE_CODES.DS:
      return { type: 'DS', ...readDelegation(message.subarray(start, end)) };
    case TYPE_CODES.DNSKEY:
      return { type: 'DNSKEY', ...readKey(message.subarray(start, end)) };
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
