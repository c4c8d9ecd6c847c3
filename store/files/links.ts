import { randomUUID } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { LINK_HOURS } from '../../schemas/formats/linkOutput.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { ResultReference } from '../calls/callDocs.ts';
import { expireStored, type Pieces } from '../calls/results.ts';
import type { Store } from '../mongo/mongo.ts';
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

/** The parts of a stored file that decide how it is kept. */
export type StoredLink = Pick<LinkedFile, 'content' | 'sizeBytes' | 'expiresAt'>;

/** Files of calls under addresses that need no key. */
export interface Links {
  /**
   * Stores a file for `UNSEEN_MS`. It stays longer if `keepLinked` is called.
   *
   * @returns what is stored, and the token of its address
   */
  store(
    callId: string,
    file: ProducedFile,
    options?: StoreOptions,
  ): Promise<{ file: LinkedFile; token: string }>;
  /** Returns the file of a token; null if the token is not one of this call, or has expired. */
  open(callId: string, token: string): LinkedFile | null;
  /**
   * Yields bytes of a file. @param start first byte, inclusive @param end last byte, exclusive
   * @throws ResultGone if the file was deleted
   */
  read(callId: string, file: LinkedFile, start: number, end: number): AsyncGenerator<Buffer>;
}

interface StoreOptions {
  /** Id of its pieces. Default: one that nobody can guess. */
  id?: string;
  /** When the address ends, in epoch milliseconds. Default: in `LINK_MS`. */
  expiresAt?: number;
}

/** How long an address can be used, in milliseconds. */
export const LINK_MS = LINK_HOURS * 3_600_000;
/**
 * How long a file stays whose address no caller has got yet, in milliseconds. Whoever stores it cannot know whether its call will be
 * charged: the call may be cancelled meanwhile, or run again.
 */
export const UNSEEN_MS = 15 * 60_000;

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
    async store(callId, { bytes, type, name }, { id = randomUUID(), expiresAt = Date.now() + LINK_MS } = {}) {
      const unseen = new Date(Math.min(Date.now() + UNSEEN_MS, expiresAt));
      const { content, sizeBytes } = await contents.write(callId, id, oneChunk(bytes), unseen);
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

/**
 * Keeps the file of a charged call until its address ends. Does nothing if it is kept already, or gone; so it can be repeated.
 *
 * @param count counts its bytes before it is kept, so that a crash does not leave it uncounted. Returns false if there is no room
 */
export async function keepLinked(
  store: Pick<Store, 'results'>,
  { content, sizeBytes, expiresAt }: StoredLink,
  count: (bytes: number) => Promise<boolean>,
): Promise<void> {
  const piece = await store.results.findOne({ _id: `${content.id}:0` }, { projection: { expiresAt: 1 } });
  if (piece === null || piece.expiresAt.getTime() >= expiresAt) return;
  if (await count(sizeBytes)) await expireStored(store, content, new Date(expiresAt));
}
