import { randomUUID } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { FileUsage } from '../../schemas/accountRows.ts';
import type { RateLimit } from '../../schemas/envValues.ts';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { MAX_FILES } from '../../schemas/files.ts';
import { FILE_KEPT_HOURS } from '../../schemas/formats/fileSource.ts';
import { sniffFileType } from '../../schemas/formats/fileType.ts';
import { LONGEST_JOB_MS } from '../calls/callPolicy.ts';
import { deleteStored, expireStored, mongodbPieces, type ResultReference } from '../calls/results.ts';
import { createCounter, secondsLeft } from '../mongo/counters.ts';
import type { Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import { retryStore } from '../mongo/retryStore.ts';
import { createFileContents } from './fileContents.ts';
import type { FileDoc } from './fileDocs.ts';

/** A file that arrives. */
export interface Upload {
  /** Returns its name, when all chunks have arrived; null if it has none. */
  name(): string | null;
  chunks: AsyncIterable<Buffer>;
}

/** An uploaded file, as the call that reads it gets it. */
export interface FileReference {
  id: string;
  content: ResultReference;
  sizeBytes: number;
  /** The name that the caller gave it; null if it has none. */
  name: string | null;
}

/** The uploaded files of accounts. */
export interface Files {
  /** Refuses an upload that has no room. @param bytes its size, as far as it is known. @throws ServiceError limit_reached, rate_limited */
  assertRoom(accountId: string, bytes: number): Promise<void>;
  /**
   * Stores a file as it arrives. If that fails, nothing of it stays.
   *
   * @throws ServiceError invalid_input if it is empty; limit_reached; what the chunks throw
   */
  create(accountId: string, upload: Upload): Promise<FileDoc>;
  find(accountId: string, id: string): Promise<FileDoc | null>;
  /** Returns files that have not expired, those that expire last first. */
  list(accountId: string, page: PageRequest): Promise<Page<FileDoc>>;
  /** Returns the name that the caller gave a file; null if it has none. */
  nameOf(file: Pick<FileDoc, '_id' | 'sealedName'>): string | null;
  /** Returns the ids of all files of the account. */
  ids(accountId: string): Promise<ReadonlySet<string>>;
  /** Returns what a call needs to read the file; null if the account has no such file. */
  reference(accountId: string, id: string): Promise<FileReference | null>;
  /** Deletes a file. @returns false if the account has no such file */
  delete(accountId: string, id: string): Promise<boolean>;
  usage(accountId: string): Promise<FileUsage>;
}

/** Maximum number of bytes of the files of an account, and in KB of those of all accounts that were uploaded in a day. */
export const FILE_LIMITS = { account: 1024 ** 3, installationKb: 50 * 1024 * 1024 } as const;
const KB = 1024;
const INSTALLATION = 'all';
const KEPT_MS = FILE_KEPT_HOURS * 3_600_000;
/** How long the pieces of an unfinished upload are kept if this process is killed; longer than an upload can take. */
const UNFINISHED_MS = 10 * 60_000;
/** How long pieces are kept after the file has expired, for calls that have begun: as long as that of a job, and a minute to start it. */
const READ_MS = LONGEST_JOB_MS + 60_000;
/** Largest number of pieces of a file; the gateway of confined workers accepts no more. */
const MAX_PIECES = 100;

const FULL = `The account has too many files. At most ${MAX_FILES} files and ${FILE_LIMITS.account / 1024 ** 3} GB are stored at the same time. Delete some, or wait until they expire after ${FILE_KEPT_HOURS} hours.`;

/** @param limit null disables the limits */
export function createFiles(store: Store, keyring: Keyring, limit: RateLimit | null): Files {
  const { files } = store;
  const pieces = mongodbPieces(store);
  const contents = createFileContents(
    { ...pieces, put: (id, sealed, expiresAt) => retryStore(() => pieces.put(id, sealed, expiresAt)) },
    keyring,
  );
  const seconds = FILE_KEPT_HOURS * 3600;
  const ofAll = createCounter(store, {
    name: 'kept-files-of',
    max: FILE_LIMITS.installationKb,
    seconds,
  });
  const live = (accountId: string) => ({ accountId, expiresAt: { $gt: new Date() } });
  const nameContext = (id: string): string => `${id}:name`;

  async function sum(accountId: string): Promise<{ count: number; bytes: number }> {
    const [found] = await files
      .aggregate<{ count: number; bytes: number }>([
        { $match: live(accountId) },
        { $group: { _id: null, count: { $sum: 1 }, bytes: { $sum: '$sizeBytes' } } },
      ])
      .toArray();
    return { count: found?.count ?? 0, bytes: found?.bytes ?? 0 };
  }

  /**
   * Inserts a file, then checks that the account has not too many: uploads that end at the same time are refused together rather
   * than kept above the limit. @throws ServiceError limit_reached; the file is then to be discarded
   */
  async function insert(row: FileDoc): Promise<void> {
    await retryStore(() => files.replaceOne({ _id: row._id }, row, { upsert: true }));
    if (limit === null) return;
    const { count, bytes } = await retryStore(() => sum(row.accountId));
    if (count > MAX_FILES || bytes > FILE_LIMITS.account)
      throw new ServiceError('limit_reached', { detail: FULL });
    // Last, so that nothing is counted for the installation that the account has no room for.
    await ofAll.penalty(INSTALLATION, Math.ceil(row.sizeBytes / KB));
  }

  /** Gives the installation the room of a deleted file back, if it was counted in the current window. */
  async function giveBack({ sizeBytes, expiresAt }: FileDoc): Promise<void> {
    if (limit === null) return;
    const window = await ofAll.get(INSTALLATION);
    if (window === null) return;
    const beganAt = Date.now() + window.msBeforeNext - seconds * 1000;
    const createdAt = expiresAt.getTime() - KEPT_MS;
    if (createdAt > beganAt) await ofAll.reward(INSTALLATION, Math.ceil(sizeBytes / KB));
  }

  /** Deletes what an upload that failed has stored. If that fails too, its pieces expire. */
  async function discard(id: string, contentId: string): Promise<void> {
    await files.deleteOne({ _id: id });
    await deleteStored(store, { id: contentId, pieces: MAX_PIECES });
  }

  async function find(accountId: string, id: string): Promise<FileDoc | null> {
    return await files.findOne({ _id: id, ...live(accountId) });
  }

  const nameOf: Files['nameOf'] = ({ _id: id, sealedName }) =>
    sealedName === null
      ? null
      : keyring.open('file', nameContext(id), Buffer.from(sealedName, 'base64')).toString();

  return {
    find,
    nameOf,

    list: (accountId, page) =>
      pageByTime(
        'files',
        (condition) => files.find({ $and: [live(accountId), condition] }),
        'expiresAt',
        page,
      ),

    async assertRoom(accountId, bytes) {
      if (limit === null) return;
      const [own, all] = await Promise.all([
        retryStore(() => sum(accountId)),
        retryStore(() => ofAll.get(INSTALLATION)),
      ]);
      if (own.count >= MAX_FILES || own.bytes + bytes > FILE_LIMITS.account)
        throw new ServiceError('limit_reached', { detail: FULL });
      if (all !== null && all.consumedPoints >= FILE_LIMITS.installationKb)
        throw new ServiceError('rate_limited', {
          detail: 'The files of all accounts take too much storage.',
          retryAfter: secondsLeft(all),
        });
    },

    async create(accountId, upload) {
      const id = `file_${randomUUID()}`;
      // Not the id of the file: a worker that knows the id of pieces can read them, encrypted.
      const contentId = randomUUID();
      try {
        const unfinished = new Date(Date.now() + UNFINISHED_MS);
        const { content, sizeBytes, sha256, start } = await contents.write(
          id,
          contentId,
          upload.chunks,
          unfinished,
        );
        if (sizeBytes === 0) throw invalidInput([{ pointer: '', message: 'the file is empty' }]);
        const expiresAt = new Date(Date.now() + KEPT_MS);
        await retryStore(() => expireStored(store, content, new Date(expiresAt.getTime() + READ_MS)));
        const name = upload.name();
        const sealedName =
          name === null ? null : keyring.seal('file', nameContext(id), Buffer.from(name)).toString('base64');
        const type = sniffFileType(start);
        const row = { _id: id, accountId, content, sizeBytes, sha256, type, sealedName, expiresAt };
        await insert(row);
        return row;
      } catch (error) {
        await discard(id, contentId).catch(() => undefined);
        throw error;
      }
    },

    async ids(accountId) {
      const rows = await files.find(live(accountId), { projection: { _id: 1 } }).toArray();
      return new Set(rows.map(({ _id }) => _id));
    },

    async reference(accountId, id) {
      const row = await find(accountId, id);
      if (row === null) return null;
      const { content, sizeBytes } = row;
      return { id, content, sizeBytes, name: nameOf(row) };
    },

    async delete(accountId, id) {
      const row = await files.findOneAndDelete({ _id: id, ...live(accountId) });
      if (row === null) return false;
      await deleteStored(store, row.content);
      await giveBack(row);
      return true;
    },

    async usage(accountId) {
      const { count, bytes } = await sum(accountId);
      return { count, storedBytes: bytes, maxStoredBytes: limit === null ? null : FILE_LIMITS.account };
    },
  };
}
