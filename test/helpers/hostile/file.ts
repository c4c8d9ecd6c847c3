import type { Random } from '../random.ts';

/** A malformed or expensive file, for the tools that read this kind of file. */
export interface HostileFile {
  name: string;
  kind: 'image' | 'pdf' | 'document' | 'page';
  bytes: Buffer;
  /** Content-Type of the response when the file is served as a page. */
  contentType?: string;
}

/** Boundary values of sizes, counts and signs, at which decoders often fail. */
const EDGES = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];

/**
 * Applies one to eight random mutations, like the havoc stage of AFL: flipped bits, boundary values, random bytes,
 * duplicated or removed blocks, and truncation.
 */
export function mutate(bytes: Buffer, random: Random): Buffer {
  let changed = Buffer.from(bytes);
  for (let changes = random.integer(1, 8); changes > 0 && changed.length > 16; changes--) {
    // Headers determine what a decoder allocates, so half of the mutations are near the start.
    const last = changed.length - 5;
    const at = random.integer(0, random.integer(0, 1) === 0 ? Math.min(last, 256) : last);
    const length = random.integer(1, Math.min(4096, changed.length - at));
    switch (random.integer(0, 6)) {
      case 0:
        changed.writeUInt8(changed.readUInt8(at) ^ (1 << random.integer(0, 7)), at);
        break;
      case 1:
        changed.writeUInt32BE(random.pick(EDGES), at);
        break;
      case 2:
        changed.writeUInt32LE(random.pick(EDGES), at);
        break;
      case 3:
        random.bytes(Math.min(length, 64)).copy(changed, at);
        break;
      case 4:
        changed = Buffer.concat([changed.subarray(0, at + length), changed.subarray(at)]);
        break;
      case 5:
        changed = Buffer.concat([changed.subarray(0, at), changed.subarray(at + length)]);
        break;
      default:
        changed = changed.subarray(0, Math.max(16, random.integer(0, 3) === 0 ? at : changed.length));
    }
  }
  return changed;
}
