import { ServiceError } from '../../schemas/errors.ts';

/** Constants of compound files: header, sector chains and directory entries ([MS-CFB] 2.2 to 2.6). */
const MAGIC = Buffer.from('d0cf11e0a1b11ae1', 'hex');
const HEADER_BYTES = 512;
const ENTRY_BYTES = 128;
const LAST_SECTOR = 0xfffffffa;
const NONE = 0xffffffff;
const STREAM = 2;

const corrupt = () =>
  new ServiceError('corrupt_source', { detail: 'The document is damaged: its OLE container is invalid.' });

export const isCfb = (bytes: Buffer): boolean => bytes.subarray(0, 8).equals(MAGIC);

interface DirectoryEntry {
  name: string;
  type: number;
  start: number;
  size: number;
  left: number;
  right: number;
  child: number;
}

function readDirectoryEntry(bytes: Buffer, at: number): DirectoryEntry {
  const nameBytes = Math.min(64, bytes.readUInt16LE(at + 64));
  return {
    name: bytes.toString('utf16le', at, at + Math.max(0, nameBytes - 2)),
    type: bytes.readUInt8(at + 66),
    left: bytes.readUInt32LE(at + 68),
    right: bytes.readUInt32LE(at + 72),
    child: bytes.readUInt32LE(at + 76),
    start: bytes.readUInt32LE(at + 116),
    size: bytes.readUInt32LE(at + 120),
  };
}

/** Reads a stream: at least the first `most` bytes if it has them. @throws ServiceError corrupt_source when it is malformed */
type CfbStream = (most?: number) => Buffer;

/** Follows a sector chain from `start`. `table` maps each sector to its successor. @throws corrupt_source for a cycle */
function chain(table: readonly number[], start: number, most = Number.POSITIVE_INFINITY): number[] {
  const sectors: number[] = [];
  for (let sector = start; sector <= LAST_SECTOR && sectors.length < most; sector = table[sector] ?? NONE) {
    if (sectors.length >= table.length) throw corrupt();
    sectors.push(sector);
  }
  return sectors;
}

const numbers = (bytes: Buffer): number[] =>
  Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readUInt32LE(index * 4));

function readContainer(bytes: Buffer): Map<string, CfbStream> {
  const sectorBytes = 1 << bytes.readUInt16LE(30);
  const miniBytes = 1 << bytes.readUInt16LE(32);
  if (sectorBytes !== 512 && sectorBytes !== 4096) throw corrupt();
  const miniCutoff = bytes.readUInt32LE(56);
  const sectorAt = (sector: number): Buffer =>
    bytes.subarray((sector + 1) * sectorBytes, (sector + 2) * sectorBytes);

  const fatSectors = numbers(bytes.subarray(76, HEADER_BYTES));
  const perSector = sectorBytes / 4 - 1;
  const sectorCount = bytes.length / sectorBytes;
  let difat = bytes.readUInt32LE(68);
  for (let count = 0; difat <= LAST_SECTOR; count++) {
    if (count > sectorCount) throw corrupt();
    const list = numbers(sectorAt(difat));
    fatSectors.push(...list.slice(0, perSector));
    difat = list[perSector] ?? NONE;
  }
  const used = fatSectors.filter((sector) => sector < sectorCount);
  const fat = used.flatMap((sector) => numbers(sectorAt(sector)));
  const read = (start: number, most?: number): Buffer => Buffer.concat(chain(fat, start, most).map(sectorAt));

  const directory = read(bytes.readUInt32LE(48));
  const entryAt = (index: number) => readDirectoryEntry(directory, index * ENTRY_BYTES);
  const root = entryAt(0);
  const miniFat = numbers(read(bytes.readUInt32LE(60)));
  const miniStream = read(root.start);

  const miniAt = (sector: number) => miniStream.subarray(sector * miniBytes, (sector + 1) * miniBytes);
  const streamOf =
    ({ start, size }: DirectoryEntry): CfbStream =>
    (most = size) =>
      (size < miniCutoff
        ? Buffer.concat(chain(miniFat, start).map(miniAt))
        : read(start, Math.ceil(most / sectorBytes))
      ).subarray(0, size);
  const streams = new Map<string, CfbStream>();
  const seen = new Set<number>();
  const open = [root.child];
  for (let index = open.pop(); index !== undefined; index = open.pop()) {
    if (index === NONE || seen.has(index)) continue;
    seen.add(index);
    const entry = entryAt(index);
    if (entry.type === STREAM) streams.set(entry.name, streamOf(entry));
    open.push(entry.left, entry.right);
  }
  return streams;
}

/**
 * Reads the streams in the root of a compound file, the container of old Office files.
 *
 * @throws ServiceError corrupt_source when the file is malformed
 */
export function readCfb(bytes: Buffer): Map<string, CfbStream> {
  try {
    return readContainer(bytes);
  } catch (error) {
    if (error instanceof RangeError) throw corrupt();
    throw error;
  }
}
