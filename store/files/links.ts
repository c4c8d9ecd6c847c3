import { randomUUID } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { LINK_HOURS } from '../../schemas/formats/linkOutput.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { ResultReference } from '../calls/callDocs.ts';
import type { Pieces } from '../calls/results.ts';
import { createFileContents } from './fileContents.ts';

/** A file that a call has produced. */
export interface ProducedFile {
  bytes: Buffer;
  type: string;
  name: string;
}

/** A file that is stored under an address. */
export interface LinkedFile {
  content: ResultReference;
  sizeBytes: number;
  type: string;
  name: string;
  /** When the address ends, in epoch milliseconds. */
  expiresAt: number;
}

/** Files of calls under addresses that need no key. */
export interface Links {
  /**
   * Stores a file.
   *
   * @param id id of its pieces, which replaces what is stored under it. Default: one that nobody can guess
   * @returns what is stored, and the token of its address
   */
  store(callId: string, file: ProducedFile, id?: string): Promise<{ file: LinkedFile; token: string }>;
  /** Returns the file of a token; null if the token is not one of this call, or has expired. */
  open(callId: string, token: string): LinkedFile | null;
  /**
   * Yields bytes of a file. @param start first byte, inclusive @param end last byte, exclusive
   * @throws ResultGone if the file was deleted
   */
  read(callId: string, file: LinkedFile, start: number, end: number): AsyncGenerator<Buffer>;
}

/** Path at which the API serves files, by the id of their call. */
export const LINKS_PATH = '/api/v1/links';

/** Returns the address of a file. @param baseUrl URL of the API */
export const linkUrl = (baseUrl: string, callId: string, token: string): string =>
  `${baseUrl}${LINKS_PATH}/${callId}?token=${token}`;

async function* oneChunk(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

const isLinkedFile = (value: unknown): value is LinkedFile =>
  isRecord(value) && typeof value.expiresAt === 'number' && isRecord(value.content);

/**
 * The token is what is known of the file, encrypted for the purpose `link` and bound to the call: it is as good as a signature, needs
 * no document, and says nothing to those who read it. Whoever stores a file makes it, so that a stored result repeats it.
 */
export function createLinks(pieces: Pieces, keyring: Keyring): Links {
  const contents = createFileContents(pieces, keyring);
  return {
    async store(callId, { bytes, type, name }, id = randomUUID()) {
      const expiresAt = Date.now() + LINK_HOURS * 3_600_000;
      const { content, sizeBytes } = await contents.write(callId, id, oneChunk(bytes), new Date(expiresAt));
      const file = { content, sizeBytes, type, name, expiresAt };
      const token = keyring.seal('link', callId, Buffer.from(JSON.stringify(file))).toString('base64url');
      return { file, token };
    },

    open(callId, token) {
      try {
        const sealed = keyring.open('link', callId, Buffer.from(token, 'base64url'));
        const file: unknown = JSON.parse(sealed.toString());
        return isLinkedFile(file) && file.expiresAt > Date.now() ? file : null;
      } catch {
        return null;
      }
    },

    read: (callId, { content }, start, end) => contents.readPart(callId, content, start, end),
  };
}
