import { randomUUID } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Store } from '../mongo/mongo.ts';
import type { ResultReference } from './callDocs.ts';

export type { ResultReference } from './callDocs.ts';

const pieceIds = ({ id, pieces }: ResultReference): string[] =>
  Array.from({ length: pieces }, (_, piece) => `${id}:${piece}`);

/** Where encrypted pieces of inputs and results are stored. */
export interface Pieces {
  put(id: string, sealed: Uint8Array, expiresAt: Date): Promise<void>;
  /** Returns null when there is no such piece. */
  get(id: string): Promise<Uint8Array | null>;
}

/** A stored input or result has expired. */
export class ResultGone extends Error {
  override readonly name = 'ResultGone';
}

export interface Results {
  /**
   * Stores bytes until `expiresAt`.
   *
   * @param id default: a new id for each write, so that the pieces of different attempts never mix. Set it only if
   *   every repetition writes the same bytes
   */
  write(callId: string, data: Uint8Array, expiresAt: Date, id?: string): Promise<ResultReference>;
  /** @throws ResultGone if a piece has expired; another error if one was changed */
  read(callId: string, reference: ResultReference): Promise<Buffer>;
}

/** Maximum size in bytes of an input or result in a workflow payload; Temporal's limit for a payload is 2 MB. */
export const INLINE_BYTES = 64 * 1024;
/** Size of a piece; below MongoDB's limit of 16 MB per document. */
const PIECE_BYTES = 8 * 1024 * 1024;

/** Maximum size in bytes of an encrypted piece. */
export const SEALED_PIECE_BYTES = PIECE_BYTES + 1024;

export const mongodbPieces = ({ results }: Pick<Store, 'results'>): Pieces => ({
  async put(id, sealed, expiresAt) {
    await results.replaceOne({ _id: id }, { data: Buffer.from(sealed), expiresAt }, { upsert: true });
  },
  async get(id) {
    const row = await results.findOne({ _id: id }, { promoteBuffers: true });
    return row?.data ?? null;
  },
});

/** Stores a piece unless one with this id is stored. */
export async function putPieceOnce(
  { results }: Pick<Store, 'results'>,
  id: string,
  sealed: Uint8Array,
  expiresAt: Date,
): Promise<void> {
  const piece = { data: Buffer.from(sealed), expiresAt };
  await results.updateOne({ _id: id }, { $setOnInsert: piece }, { upsert: true });
}

/** Keeps the pieces that are put until `flush` stores them in one command; for many small results. */
export function bufferedPieces({ results }: Pick<Store, 'results'>) {
  const pieces: { id: string; data: Buffer; expiresAt: Date }[] = [];
  return {
    put: async (id: string, sealed: Uint8Array, expiresAt: Date): Promise<void> => {
      pieces.push({ id, data: Buffer.from(sealed), expiresAt });
    },
    get: mongodbPieces({ results }).get,
    /** Returns the bytes of the pieces. */
    sizes: (): number[] => pieces.map(({ data }) => data.length),
    async flush(): Promise<void> {
      if (pieces.length === 0) return;
      const writes = pieces.map(({ id, ...replacement }) => ({
        replaceOne: { filter: { _id: id }, replacement, upsert: true },
      }));
      await results.bulkWrite(writes, { ordered: false });
    },
  };
}

/** Lets a stored input or result expire at this time. */
export async function expireStored(
  { results }: Pick<Store, 'results'>,
  reference: ResultReference,
  expiresAt: Date,
): Promise<void> {
  await results.updateMany({ _id: { $in: pieceIds(reference) } }, { $set: { expiresAt } });
}

/** Lets a stored result expire at this time at the earliest. */
export async function keepStored(
  { results }: Pick<Store, 'results'>,
  reference: ResultReference,
  expiresAt: Date,
): Promise<void> {
  await results.updateMany({ _id: { $in: pieceIds(reference) } }, { $max: { expiresAt } });
}

export async function deleteStored(
  { results }: Pick<Store, 'results'>,
  reference: ResultReference,
): Promise<void> {
  await results.deleteMany({ _id: { $in: pieceIds(reference) } });
}

export function createResults(store: Pieces, keyring: Keyring): Results {
  return {
    async write(callId, data, expiresAt, id = randomUUID()) {
      const pieces = Math.max(1, Math.ceil(data.length / PIECE_BYTES));
      for (let piece = 0; piece < pieces; piece++) {
        const plain = data.subarray(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES);
        const sealed = keyring.seal('result', `${callId}:${id}:${piece}:${pieces}`, plain);
        await store.put(`${id}:${piece}`, sealed, expiresAt);
      }
      return { id, pieces };
    },

    async read(callId, { id, pieces }) {
      const parts: Buffer[] = [];
      for (let piece = 0; piece < pieces; piece++) {
        const sealed = await store.get(`${id}:${piece}`);
        if (sealed === null) throw new ResultGone(`result ${id} of call ${callId} is gone`);
        parts.push(keyring.open('result', `${callId}:${id}:${piece}:${pieces}`, sealed));
      }
      return Buffer.concat(parts);
    },
  };
}
