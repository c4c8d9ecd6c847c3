/** The data of a DS record (RFC 4034 section 5). */
export interface DelegationData {
  keyTag: number;
  algorithm: number;
  digestType: number;
  digest: Buffer;
}

/** The data of a DNSKEY record (RFC 4034 section 2). */
export interface KeyData {
  flags: number;
  protocol: number;
  algorithm: number;
  publicKey: Buffer;
  /** The tag by which DS and RRSIG records name the key. */
  keyTag: number;
}

const RSAMD5 = 1;

/** Computes the tag of a key from the data of its record (RFC 4034 appendix B). */
function keyTagOf(data: Buffer): number {
  if (data.readUInt8(3) === RSAMD5) return data.readUInt16BE(data.length - 3);
  let sum = 0;
  for (const [index, byte] of data.entries()) sum += index % 2 === 0 ? byte << 8 : byte;
  return (sum + (sum >>> 16)) & 0xffff;
}

/** Parses the data of a DS record. @throws Error when it is too short */
export function readDelegation(data: Buffer): DelegationData {
  if (data.length < 5) throw new Error('DS of the wrong length');
  return {
    keyTag: data.readUInt16BE(0),
    algorithm: data.readUInt8(2),
    digestType: data.readUInt8(3),
    digest: Buffer.from(data.subarray(4)),
  };
}

/** Parses the data of a DNSKEY record. @throws Error when it is too short */
export function readKey(data: Buffer): KeyData {
  if (data.length < 5) throw new Error('DNSKEY of the wrong length');
  return {
    flags: data.readUInt16BE(0),
    protocol: data.readUInt8(2),
    algorithm: data.readUInt8(3),
    publicKey: Buffer.from(data.subarray(4)),
    keyTag: keyTagOf(data),
  };
}
