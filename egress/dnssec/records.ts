import { readName } from '../dns/name.ts';
import { toWire } from './names.ts';

/** Codes of the types of records that validation reads (IANA, DNS parameters). */
export const TYPE = {
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  SRV: 33,
  DNAME: 39,
  DS: 43,
  RRSIG: 46,
  NSEC: 47,
  DNSKEY: 48,
  NSEC3: 50,
} as const;

const INTERNET = 1;

/** A record with its data in canonical form (RFC 4034 section 6.2). */
interface RawRecord {
  owner: string;
  type: number;
  data: Buffer;
}

/** The records of a reply that may be bogus. */
export interface RawReply {
  /** Whether the name, or the name that it is an alias of, does not exist. */
  nxdomain: boolean;
  answers: readonly RawRecord[];
  authorities: readonly RawRecord[];
}

/** All records of one owner and type, and their signatures. */
export interface RecordSet {
  owner: string;
  type: number;
  data: Buffer[];
  signatures: Signature[];
}

/** The data of an RRSIG record (RFC 4034 section 3). */
export interface Signature {
  covered: number;
  algorithm: number;
  labels: number;
  originalTtl: number;
  /** Unix times in seconds, modulo 2^32. */
  expiration: number;
  inception: number;
  keyTag: number;
  signer: string;
  /** The data before the signature, which is signed too. */
  head: Buffer;
  signature: Buffer;
}

/** Bytes of the data before a name that canonical form converts to lower case, by type. */
const BEFORE_NAME: Readonly<Record<number, number>> = {
  [TYPE.NS]: 0,
  [TYPE.CNAME]: 0,
  [TYPE.PTR]: 0,
  [TYPE.DNAME]: 0,
  [TYPE.SOA]: 0,
  [TYPE.MX]: 2,
  [TYPE.SRV]: 6,
  [TYPE.RRSIG]: 18,
};

function canonicalData(message: Buffer, type: number, start: number, end: number): Buffer {
  const before = BEFORE_NAME[type];
  if (before === undefined) return Buffer.from(message.subarray(start, end));
  const parts = [message.subarray(start, start + before)];
  let at = start + before;
  for (let names = type === TYPE.SOA ? 2 : 1; names > 0; names--) {
    const { name, end: next } = readName(message, at);
    parts.push(toWire(name));
    at = next;
  }
  if (at > end) throw new Error('name runs past its record');
  return Buffer.concat([...parts, message.subarray(at, end)]);
}

/** Reads the records of the answer and authority sections. @throws Error when the message is malformed */
export function readRawRecords(message: Buffer): Omit<RawReply, 'nxdomain'> {
  let at = message.readUInt16BE(4) === 0 ? 12 : readName(message, 12).end + 4;
  const readSection = (count: number): RawRecord[] => {
    const records: RawRecord[] = [];
    for (let index = 0; index < count; index++) {
      const { name: owner, end: fixed } = readName(message, at);
      const type = message.readUInt16BE(fixed);
      const start = fixed + 10;
      at = start + message.readUInt16BE(fixed + 8);
      if (at > message.length) throw new Error('record runs past the message');
      if (message.readUInt16BE(fixed + 2) === INTERNET)
        records.push({ owner, type, data: canonicalData(message, type, start, at) });
    }
    return records;
  };
  const answers = readSection(message.readUInt16BE(6));
  return { answers, authorities: readSection(message.readUInt16BE(8)) };
}

function readSignature(data: Buffer): Signature {
  const { name: signer, end } = readName(data, 18);
  return {
    covered: data.readUInt16BE(0),
    algorithm: data.readUInt8(2),
    labels: data.readUInt8(3),
    originalTtl: data.readUInt32BE(4),
    expiration: data.readUInt32BE(8),
    inception: data.readUInt32BE(12),
    keyTag: data.readUInt16BE(16),
    signer,
    head: data.subarray(0, end),
    signature: data.subarray(end),
  };
}

/** Groups records to sets. @throws RangeError when an RRSIG record is cut off */
export function toSets(records: readonly RawRecord[]): RecordSet[] {
  const sets = new Map<string, RecordSet>();
  const setOf = (owner: string, type: number): RecordSet => {
    const key = `${type} ${owner}`;
    const set = sets.get(key) ?? { owner, type, data: [], signatures: [] };
    sets.set(key, set);
    return set;
  };
  for (const { owner, type, data } of records) {
    if (type !== TYPE.RRSIG) setOf(owner, type).data.push(data);
    else {
      const signature = readSignature(data);
      setOf(owner, signature.covered).signatures.push(signature);
    }
  }
  return [...sets.values()].filter((set) => set.data.length > 0);
}

/** Finds the set of an owner and type. */
export const findSet = (sets: readonly RecordSet[], owner: string, type: number): RecordSet | undefined =>
  sets.find((set) => set.owner === owner && set.type === type);

/** The name in the data of a CNAME or DNAME record. */
export const targetOf = (data: Buffer): string => readName(data, 0).name;
