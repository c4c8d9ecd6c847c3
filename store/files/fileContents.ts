import { createHash } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { type Pieces, ResultGone, type ResultReference } from '../calls/results.ts';

/** Size of a piece of a file in bytes. A transfer holds one piece in memory. */
export const FILE_PIECE_BYTES = 1024 * 1024;

/** Facts about a file that are known when its last byte has been stored. */
export interface StoredContent {
  content: ResultReference;
  sizeBytes: number;
  /** In hexadecimal. */
  sha256: string;
  /** Its first bytes: at most a piece. */
  start: Buffer;
}

/**
 * The encrypted contents of files, which are stored as they arrive, so that their size is not known before the end. The last piece
 * is marked as such (STREAM of Hoang, Reyhanitabar, Rogaway and Vizár, 2015): neither order nor number of the pieces can be changed.
 */
export interface FileContents {
  /**
   * Stores a content. If the chunks end with an error, the pieces so far stay until they expire.
   *
   * @param fileId authenticated with each piece
   * @param id id of the pieces: a UUID that nobody can guess
   */
  write(fileId: string, id: string, chunks: AsyncIterable<Buffer>, expiresAt: Date): Promise<StoredContent>;
  /** Yields the pieces in their order. @throws ResultGone if one has expired or was deleted; another error if one was changed */
  read(fileId: string, content: ResultReference): AsyncGenerator<Buffer>;
  /** Yields the bytes from `start` to before `end`, of which the file has at least one. @throws as `read` */
  readPart(fileId: string, content: ResultReference, start: number, end: number): AsyncGenerator<Buffer>;
}

export function createFileContents(store: Pieces, keyring: Keyring): FileContents {
  const contextOf = (fileId: string, id: string, piece: number, isLast: boolean): string =>
    `${fileId}:${id}:${piece}:${isLast ? 'last' : 'more'}`;

  async function readPiece(fileId: string, { id, pieces }: ResultReference, piece: number): Promise<Buffer> {
    const sealed = await store.get(`${id}:${piece}`);
    if (sealed === null) throw new ResultGone(`piece ${piece} of ${fileId} is gone`);
    return keyring.open('file', contextOf(fileId, id, piece, piece === pieces - 1), sealed);
  }

  return {
    async write(fileId, id, chunks, expiresAt) {
      const hash = createHash('sha256');
      let start: Buffer | undefined;
      let sizeBytes = 0;
      let pieces = 0;
      let held: Buffer[] = [];
      let heldBytes = 0;
      const flush = async (isLast: boolean): Promise<void> => {
        const plain = Buffer.concat(held);
        start ??= plain;
        const sealed = keyring.seal('file', contextOf(fileId, id, pieces, isLast), plain);
        await store.put(`${id}:${pieces}`, sealed, expiresAt);
        pieces += 1;
        held = [];
        heldBytes = 0;
      };
      for await (const chunk of chunks) {
        hash.update(chunk);
        sizeBytes += chunk.length;
        for (let at = 0; at < chunk.length; ) {
          if (heldBytes === FILE_PIECE_BYTES) await flush(false);
          const part = chunk.subarray(at, at + FILE_PIECE_BYTES - heldBytes);
          held.push(part);
          heldBytes += part.length;
          at += part.length;
        }
      }
      await flush(true);
      return {
        content: { id, pieces },
        sizeBytes,
        sha256: hash.digest('hex'),
        start: start ?? Buffer.alloc(0),
      };
    },

    async *read(fileId, content) {
      for (let piece = 0; piece < content.pieces; piece++) yield await readPiece(fileId, content, piece);
    },

    async *readPart(fileId, content, start, end) {
      const first = Math.floor(start / FILE_PIECE_BYTES);
      for (let piece = first; piece * FILE_PIECE_BYTES < end; piece++) {
        const bytes = await readPiece(fileId, content, piece);
        const from = piece * FILE_PIECE_BYTES;
        yield bytes.subarray(Math.max(0, start - from), end - from);
      }
    },
  };
}
