import { randomUUID } from 'node:crypto';
import type { Keyring } from './keyring.ts';
import type { Store } from './mongo.ts';

/** Where an input or a result lies that was too big for a workflow payload. */
export interface ResultReference {
  id: string;
  pieces: number;
}

export interface Results {
  /**
   * Stores bytes until `expiresAt`. Each write has an id of its own, so that two attempts never mix.
   *
   * @param id for bytes that are the same whenever they are written: there is one copy of them then
   */
  write(callId: string, data: Uint8Array, expiresAt: Date, id?: string): Promise<ResultReference>;
  /** @throws when a piece is gone (expired) or was changed */
  read(callId: string, reference: ResultReference): Promise<Buffer>;
}

/** An input or a result up to this size travels in the workflow's payloads, which Temporal limits to 2 MB. */
export const INLINE_BYTES = 64 * 1024;
/** Below MongoDB's 16 MB a document, with room for the envelope. */
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
