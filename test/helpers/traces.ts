import { randomBytes } from 'node:crypto';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { Payload, PayloadCodec } from '@temporalio/common';
import type { Db, MongoClient } from 'mongodb';

/** A string that cannot occur by accident, together with its possible encodings. */
export interface Marker {
  text: string;
  needles: readonly Buffer[];
}

/** Returns the part of a string's base64 encoding that does not depend on the bytes before and after it. */
function base64Core(text: string, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]).toString('base64');
  return encoded.slice(Math.ceil((offset * 4) / 3) + (offset === 0 ? 0 : 1), -4);
}

export function createMarker(): Marker {
  const word = randomBytes(12)
    .toString('hex')
    .replace(/[0-9]/g, (digit) => 'ghijkmnpqr'.charAt(Number(digit)));
  // Ends with characters that JSON, URLs and base64 encode differently; at the end they do not change how the part
  // before them is encoded.
  const text = `${word}é"+/%`;
  const base64 = [0, 1, 2].map((offset) => base64Core(word, offset));
  const spellings = [
    word,
    ...base64,
    ...base64.map((it) => it.replaceAll('+', '-').replaceAll('/', '_')),
    Buffer.from(word).toString('hex'),
    Buffer.from(word).toString('hex').toUpperCase(),
    encodeURIComponent(text),
    [...Buffer.from(word)].map((byte) => `%${byte.toString(16)}`).join(''),
  ];
  return {
    text,
    needles: [...new Set(spellings)].map((it) => Buffer.from(it)).concat(Buffer.from(word, 'utf16le')),
  };
}

export const holds = (bytes: Uint8Array, { needles }: Marker): boolean => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return needles.some((needle) => buffer.includes(needle));
};

const CHUNK = 8 * 1024 * 1024;
/**
 * Bytes by which consecutive chunks overlap: longer than any searched string, so that none is missed at a chunk
 * boundary.
 */
const OVERLAP = 512;

async function fileHolds(path: string, marker: Marker): Promise<boolean> {
  await using file = await open(path);
  const chunk = Buffer.alloc(CHUNK + OVERLAP);
  for (let at = 0; ; at += CHUNK) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
    if (holds(chunk.subarray(0, bytesRead), marker)) return true;
    if (bytesRead < chunk.length) return false;
  }
}

/**
 * Searches all files below the folder for the marker. Returns the files that contain it, and the number of bytes and
 * files searched.
 */
export async function searchFiles(
  folder: string,
  marker: Marker,
): Promise<{ found: string[]; bytes: number; files: number }> {
  const result = { found: [] as string[], bytes: 0, files: 0 };
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    result.files++;
    result.bytes += (await stat(path)).size;
    if (await fileHolds(path, marker)) result.found.push(path);
  }
  return result;
}

async function collectionHolds(db: Db, name: string, marker: Marker): Promise<number> {
  let found = 0;
  // Raw BSON, so that the search covers strings, keys and binary data.
  for await (const document of db.collection(name).find({}, { raw: true }))
    if (document instanceof Uint8Array && holds(document, marker)) found++;
  return found;
}

/**
 * Searches every collection of the MongoDB server, including the oplog, for the marker. Returns the matches by
 * `<database>.<collection>`.
 */
export async function searchMongodb(
  client: MongoClient,
  marker: Marker,
): Promise<{ found: Record<string, number>; collections: string[] }> {
  const found: Record<string, number> = {};
  const collections: string[] = [];
  const { databases } = await client.db().admin().listDatabases();
  for (const { name: database } of databases) {
    const db = client.db(database);
    for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray()) {
      collections.push(`${database}.${name}`);
      const count = await collectionHolds(db, name, marker);
      if (count > 0) found[`${database}.${name}`] = count;
    }
  }
  return { found, collections };
}

const isPayload = (value: object): value is Payload =>
  'metadata' in value && 'data' in value && value.data instanceof Uint8Array;

/** Yields every string and all bytes of a protobuf message, and the decoded form of each payload in it. */
async function* contents(
  value: unknown,
  codec: PayloadCodec,
): AsyncGenerator<{ bytes: Uint8Array; decoded: boolean }> {
  if (typeof value === 'string') yield { bytes: Buffer.from(value), decoded: false };
  else if (value instanceof Uint8Array) yield { bytes: value, decoded: false };
  else if (typeof value === 'object' && value !== null) {
    if (isPayload(value))
      // Skips empty payloads, which the codec decodes to another type of array.
      for (const { data } of await codec.decode([value]))
        if (data && data.length > 0) yield { bytes: data, decoded: true };
    for (const [key, member] of Object.entries(value)) {
      yield { bytes: Buffer.from(key), decoded: false };
      yield* contents(member, codec);
    }
  }
}

interface TemporalTraces {
  workflows: number;
  payloads: number;
  /** Ids of the workflows in which the Temporal server sees the marker. */
  plain: string[];
  /** Ids of the workflows that contain the marker after decryption with the payload codec. */
  decoded: string[];
}

/** Searches the description and the whole history of every workflow in the client's namespace. */
export async function searchTemporal(
  client: Client,
  codec: PayloadCodec,
  marker: Marker,
): Promise<TemporalTraces> {
  const result: TemporalTraces = { workflows: 0, payloads: 0, plain: [], decoded: [] };
  for await (const { workflowId, runId } of client.workflow.list()) {
    result.workflows++;
    const handle = client.workflow.getHandle(workflowId, runId);
    const [history, { raw }] = await Promise.all([handle.fetchHistory(), handle.describe()]);
    for await (const { bytes, decoded } of contents([history, raw], codec)) {
      if (decoded) result.payloads++;
      if (holds(bytes, marker)) result[decoded ? 'decoded' : 'plain'].push(workflowId);
    }
  }
  return result;
}
