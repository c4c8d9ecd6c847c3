import { crc32, createInflateRaw, deflateRawSync } from 'node:zlib';
import { ServiceError } from '../../schemas/errors.ts';

/** Remaining limits for a ZIP archive and all archives nested in it. */
export interface ZipBudget {
  entries: number;
  bytes: number;
  /** Number of further nesting levels of archives that are allowed. */
  depth: number;
}

interface Entry {
  name: string;
  /** The entry's record in the directory. */
  record: Buffer;
  encrypted: boolean;
  method: number;
  compressedSize: number;
  size: number;
  offset: number;
}

/** Signatures and sizes of ZIP records (PKWARE APPNOTE 6.3.10, sections 4.3.7, 4.3.12, 4.3.16, 4.5.3). */
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_BYTES = 22;
const CENTRAL_BYTES = 46;
const LOCAL_BYTES = 30;
const COMMENT_BYTES = 65_535;
const ZIP64 = 0x0001;
const UNKNOWN_32 = 0xffffffff;
/** General purpose bit 11: the name is UTF-8 (4.4.4). */
const UTF8_NAME = 0x0800;
const STORED = 0;
const DEFLATED = 8;
/** Maximum number of bytes of an entry that `readPart` returns. */
const PART_BYTES = 4_000_000;

const corrupt = (problem: string) =>
  new ServiceError('corrupt_source', { detail: `The document is damaged: ${problem}.` });

export const isZip = (bytes: Buffer): boolean => bytes.length >= 4 && bytes.readUInt32LE(0) === LOCAL;

function endRecord(bytes: Buffer): number {
  const lowest = Math.max(0, bytes.length - END_BYTES - COMMENT_BYTES);
  for (let at = bytes.length - END_BYTES; at >= lowest; at--) if (bytes.readUInt32LE(at) === END) return at;
  throw corrupt('its archive has no directory');
}

/** Replaces fields that did not fit into 32 bits with their values in the Zip64 extra field, which has the same order. */
function zip64(extra: Buffer, fields: readonly number[]): number[] {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== ZIP64) continue;
    let next = at + 4;
    return fields.map((value) => {
      if (value !== UNKNOWN_32) return value;
      next += 8;
      return Number(extra.readBigUInt64LE(next - 8));
    });
  }
  return [...fields];
}

function readEntry(bytes: Buffer, at: number): { entry: Entry; next: number } {
  if (bytes.readUInt32LE(at) !== CENTRAL) throw corrupt('the directory of its archive is invalid');
  const nameEnd = at + CENTRAL_BYTES + bytes.readUInt16LE(at + 28);
  const extraEnd = nameEnd + bytes.readUInt16LE(at + 30);
  const fields = [bytes.readUInt32LE(at + 24), bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 42)];
  const [size = 0, compressedSize = 0, offset = 0] = zip64(bytes.subarray(nameEnd, extraEnd), fields);
  const next = extraEnd + bytes.readUInt16LE(at + 32);
  const entry = {
    name: bytes.toString('utf8', at + CENTRAL_BYTES, nameEnd),
    record: bytes.subarray(at, next),
    encrypted: (bytes.readUInt16LE(at + 8) & 1) === 1,
    method: bytes.readUInt16LE(at + 10),
    compressedSize,
    size,
    offset,
  };
  return { entry, next };
}

/** Whether extracting an entry with this name would write outside the target folder. */
const escapesFolder = (name: string): boolean =>
  /^[/\\]|^[a-z]:|\0/i.test(name) || name.split(/[/\\]/).includes('..');

function readDirectory(bytes: Buffer, budget: ZipBudget): Entry[] {
  const end = endRecord(bytes);
  const size = bytes.readUInt32LE(end + 12);
  // Like LibreOffice, ignores the directory's recorded offset, which is wrong when data precedes the archive.
  const entries: Entry[] = [];
  for (let at = end - size; at < end; ) {
    const { entry, next } = readEntry(bytes, at);
    budget.entries -= 1;
    if (budget.entries < 0)
      throw new ServiceError('source_too_large', { detail: 'The document contains more than 10,000 parts.' });
    if (escapesFolder(entry.name)) throw corrupt('one of its parts has a path outside the archive');
    entries.push(entry);
    at = next;
  }
  return entries;
}

function compressedBytes(bytes: Buffer, { offset, compressedSize }: Entry): Buffer {
  if (bytes.readUInt32LE(offset) !== LOCAL) throw corrupt('a part of its archive is missing');
  const start = offset + LOCAL_BYTES + bytes.readUInt16LE(offset + 26) + bytes.readUInt16LE(offset + 28);
  return bytes.subarray(start, start + compressedSize);
}

async function* inflate(compressed: Buffer): AsyncIterable<Buffer> {
  const stream = createInflateRaw({ chunkSize: 65_536 });
  stream.end(compressed);
  yield* stream;
}

/** Decompresses an entry to chunks; no chunks when its compression method is unsupported. @throws when it is damaged */
function unpack(bytes: Buffer, entry: Entry): Iterable<Buffer> | AsyncIterable<Buffer> {
  const compressed = compressedBytes(bytes, entry);
  if (entry.method === STORED) return [compressed];
  return entry.method === DEFLATED ? inflate(compressed) : [];
}

/** Decompresses at most `most` bytes of an entry; null when its data is damaged. */
async function readStart(bytes: Buffer, entry: Entry, most: number): Promise<Buffer | null> {
  const kept: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of unpack(bytes, entry)) {
      kept.push(chunk);
      size += chunk.length;
      if (size >= most) break;
    }
  } catch {
    return null;
  }
  return Buffer.concat(kept).subarray(0, most);
}

/** Decompresses an entry, counting its bytes against the budget. @returns the entry if it is itself a ZIP, else null */
async function unpackArchive(bytes: Buffer, entry: Entry, budget: ZipBudget): Promise<Buffer | null> {
  const kept: Buffer[] = [];
  let keep: boolean | undefined;
  for await (const chunk of unpack(bytes, entry)) {
    budget.bytes -= chunk.length;
    if (budget.bytes < 0)
      throw new ServiceError('source_too_large', { detail: 'The document unpacks to more than 300 MB.' });
    keep ??= isZip(chunk);
    if (keep) kept.push(chunk);
  }
  return keep === true ? Buffer.concat(kept) : null;
}

/** An archive whose directory has been read. */
export interface Zip {
  /** Names of the parts, in the order of the directory. */
  readonly names: readonly string[];
  /** Decompresses at most `most` bytes of a part, by default 4 MB; null when the part is missing or damaged. */
  readPart(name: string, most?: number): Promise<Buffer | null>;
  /**
   * Decompresses all parts, including nested archives. Actual sizes are counted because declared sizes cannot be trusted.
   * Parts that cannot be decompressed are skipped; LibreOffice handles them later.
   *
   * @throws ServiceError source_too_large when the budget is exceeded
   */
  checkSize(): Promise<void>;
  /** Returns a copy of the archive in which these parts, by name, are replaced or added. */
  withParts(parts: ReadonlyMap<string, Buffer>): Buffer;
}

/**
 * Reads the directory of an archive.
 *
 * @throws ServiceError source_too_large for too many entries; corrupt_source when the directory is unreadable or a name
 *   points outside the archive; unsupported_source when a part is encrypted
 */
export function openZip(bytes: Buffer, budget: ZipBudget): Zip {
  const entries = withinArchive(() => readDirectory(bytes, budget));
  if (entries.some(({ encrypted }) => encrypted))
    throw new ServiceError('unsupported_source', { detail: 'The document is password-protected.' });
  return {
    names: entries.map(({ name }) => name),
    async readPart(name, most = PART_BYTES) {
      const entry = entries.find((it) => it.name === name);
      return entry === undefined ? null : readStart(bytes, entry, most);
    },
    withParts: (parts) => withinArchive(() => withParts(bytes, entries, parts)),
    async checkSize() {
      for (const entry of entries) {
        const nested = await unpackArchive(bytes, entry, budget).catch((error: unknown) => {
          if (error instanceof ServiceError && error.code === 'source_too_large') throw error;
          return null;
        });
        if (nested !== null) await checkNested(nested, budget);
      }
    },
  };
}

/** A part as it is stored in an archive: the fields that its header and its record in the directory have in common, and its data. */
interface StoredPart {
  name: Buffer;
  fields: Buffer;
  compressed: Buffer;
}

/** Creates the fields of a part (4.3.7, from "version needed to extract" on) with the current version and no time. */
function fieldsOf(
  name: Buffer,
  sizes: { crc: number; compressed: number; size: number; method: number },
): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(UTF8_NAME, 2);
  fields.writeUInt16LE(sizes.method, 4);
  fields.writeUInt32LE(sizes.crc, 10);
  fields.writeUInt32LE(sizes.compressed, 14);
  fields.writeUInt32LE(sizes.size, 18);
  fields.writeUInt16LE(name.length, 22);
  return fields;
}

function storedPart(name: Buffer, data: Buffer): StoredPart {
  const compressed = deflateRawSync(data, { level: 1 });
  const sizes = { crc: crc32(data), compressed: compressed.length, size: data.length, method: DEFLATED };
  return { name, fields: fieldsOf(name, sizes), compressed };
}

function keptPart(bytes: Buffer, entry: Entry): StoredPart {
  const name = entry.record.subarray(CENTRAL_BYTES, CENTRAL_BYTES + entry.record.readUInt16LE(28));
  const compressed = compressedBytes(bytes, entry);
  const crc = entry.record.readUInt32LE(16);
  const sizes = { crc, compressed: compressed.length, size: entry.size, method: entry.method };
  return { name, fields: fieldsOf(name, sizes), compressed };
}

/** Returns an archive of uncompressed parts. */
export const zipOfParts = (parts: ReadonlyMap<string, Buffer>): Buffer =>
  withParts(Buffer.alloc(0), [], parts);

/**
 * Creates an archive without gaps, because LibreOffice refuses archives with data that no entry covers.
 *
 * @throws RangeError when the archive is truncated
 */
function withParts(bytes: Buffer, entries: readonly Entry[], parts: ReadonlyMap<string, Buffer>): Buffer {
  const kept = entries.filter(({ name }) => !parts.has(name)).map((entry) => keptPart(bytes, entry));
  const added = [...parts].map(([name, data]) => storedPart(Buffer.from(name), data));
  const [local, central] = [Buffer.alloc(4), Buffer.alloc(6)];
  local.writeUInt32LE(LOCAL);
  central.writeUInt32LE(CENTRAL);
  central.writeUInt16LE(20, 4);
  const pieces: Buffer[] = [];
  const records: Buffer[] = [];
  let offset = 0;
  // Added parts come first, as the type of an OpenDocument text must (part 2, 3.3).
  for (const { name, fields, compressed } of [...added, ...kept]) {
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    pieces.push(local, fields, name, compressed);
    records.push(central, fields, rest, name);
    offset += local.length + fields.length + name.length + compressed.length;
  }
  const directory = Buffer.concat(records);
  const last = Buffer.alloc(END_BYTES);
  last.writeUInt32LE(END);
  last.writeUInt16LE(kept.length + added.length, 8);
  last.writeUInt16LE(kept.length + added.length, 10);
  last.writeUInt32LE(directory.length, 12);
  last.writeUInt32LE(offset, 16);
  return Buffer.concat([...pieces, directory, last]);
}

/** Converts the RangeError of a read beyond the end of a truncated archive to corrupt_source. */
function withinArchive<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) throw corrupt('its archive is truncated');
    throw error;
  }
}

/** Counts a nested archive against the budget, and ignores its other faults, because it need not be a document. */
async function checkNested(bytes: Buffer, budget: ZipBudget): Promise<void> {
  budget.depth -= 1;
  if (budget.depth < 0)
    throw new ServiceError('source_too_large', {
      detail: 'The document contains too many levels of nested archives.',
    });
  try {
    await openZip(bytes, budget).checkSize();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'source_too_large') throw error;
  } finally {
    budget.depth += 1;
  }
}
