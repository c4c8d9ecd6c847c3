import { randomUUID } from 'node:crypto';
import type { Keyring } from './keyring.ts';
import type { Store } from './mongo.ts';

/** Reference to an input or result that is stored in MongoDB because it is too large for a workflow payload. */
export interface ResultReference {
  id: string;
  pieces: number;
}

export interface Results {
  /**
   * Stores bytes until `expiresAt`.
   *
   * @param id default: a new id for each write, so that the pieces of different attempts never mix. Set it only if
   *   every repetition writes the same bytes
   */
  write(callId: string, data: Uint8Array, expiresAt: Date, id?: string): Promise<ResultReference>;
  /** @throws if a piece has expired or was changed */
  read(callId: string, reference: ResultReference): Promise<Buffer>;
}

/** Maximum size in bytes of an input or result in a workflow payload; Temporal's limit for a payload is 2 MB. */
export const INLINE_BYTES = 64 * 1024;
/** Size of a piece; below MongoDB's limit of 16 MB per document. */
const PIECE_BYTES = 8 * 1024 * 1024;

export function createResults({ results }: Store, keyring: Keyring): Results {
  return {
    async write(callId, data, expiresAt, id = randomUUID()) {
      const pieces = Math.max(1, Math.ceil(data.length / PIECE_BYTES));
      for (let piece = 0; piece < pieces; piece++) {
        const plain = data.subarray(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES);
        const sealed = keyring.seal('result', `${callId}:${id}:${piece}:${pieces}`, plain);
        await results.replaceOne({ _id: `${id}:${piece}` }, { data: sealed, expiresAt }, { upsert: true });
      }
      return { id, pieces };
    },

    async read(callId, { id, pieces }) {
      const parts: Buffer[] = [];
      for (let piece = 0; piece < pieces; piece++) {
        const row = await results.findOne({ _id: `${id}:${piece}` }, { promoteBuffers: true });
        if (row === null) throw new Error(`result ${id} of call ${callId} is gone`);
        parts.push(keyring.open('result', `${callId}:${id}:${piece}:${pieces}`, row.data));
      }
      return Buffer.concat(parts);
    },
  };
}
