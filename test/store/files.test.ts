import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { MAX_FILES } from '../../schemas/files.ts';
import { mongodbPieces } from '../../store/calls/results.ts';
import { createFileContents, FILE_PIECE_BYTES } from '../../store/files/fileContents.ts';
import { createFiles, FILE_LIMITS } from '../../store/files/files.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { startDatabase } from '../helpers/stack.ts';

const keyring = createKeyring([{ id: 'a', bytes: randomBytes(32) }]);

let database: Awaited<ReturnType<typeof startDatabase>>;
let store: Store;

test.before(async () => {
  database = await startDatabase();
  store = await openStore(database.mongodbUri);
});
test.after.always(async () => {
  await store?.close();
  await database?.stop();
});

async function* chunksOf(bytes: Buffer, size = 60_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function readAll(pieces: AsyncIterable<Buffer>): Promise<Buffer> {
  const read: Buffer[] = [];
  for await (const piece of pieces) read.push(piece);
  return Buffer.concat(read);
}

const upload = (bytes = Buffer.from('abc')) => ({ name: () => null, chunks: chunksOf(bytes) });
const codeOf = async (work: Promise<unknown>): Promise<string | null> => {
  try {
    await work;
    return null;
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error);
  }
};

test.serial(
  'contents are read back unchanged, and pieces cannot be left out, exchanged or moved to another file',
  async (t) => {
    const contents = createFileContents(mongodbPieces(store), keyring);
    const soon = new Date(Date.now() + 60_000);
    for (const size of [1, FILE_PIECE_BYTES, FILE_PIECE_BYTES + 1, 3 * FILE_PIECE_BYTES]) {
      const bytes = randomBytes(size);
      const { content, sizeBytes } = await contents.write('f', randomUUID(), chunksOf(bytes), soon);
      t.is(sizeBytes, size);
      t.is(content.pieces, Math.ceil(size / FILE_PIECE_BYTES));
      t.true((await readAll(contents.read('f', content))).equals(bytes), `${size} bytes`);
      await t.throwsAsync(readAll(contents.read('g', content)), undefined, 'another file');
      if (content.pieces < 2) continue;
      await t.throwsAsync(readAll(contents.read('f', { ...content, pieces: 1 })), undefined, 'a part');
      const [first, second] = [`${content.id}:0`, `${content.id}:1`];
      const data = (await store.results.findOne({ _id: second }))?.data;
      if (data === undefined) return t.fail();
      await store.results.updateOne({ _id: first }, { $set: { data } });
      await t.throwsAsync(readAll(contents.read('f', content)), undefined, 'another order');
    }
  },
);

test.serial(
  'an account has a limit of files and of bytes, and room again when some are deleted',
  async (t) => {
    const files = createFiles(store, keyring, { rate: 20, burst: 40 });
    const accountId = randomUUID();
    const large = {
      accountId,
      content: { id: randomUUID(), pieces: 1 },
      sizeBytes: FILE_LIMITS.account - 2,
      sha256: '',
      type: '',
      sealedName: null,
      expiresAt: new Date(Date.now() + 60_000),
    };
    await store.files.insertOne({ ...large, _id: 'large' });
    t.is(await codeOf(files.assertRoom(accountId, 3)), 'limit_reached');
    t.is(await codeOf(files.assertRoom(accountId, 2)), null);
    const pieces = await store.results.countDocuments();
    // An upload of unknown size, and one that ends while others do.
    t.is(await codeOf(files.create(accountId, upload())), 'limit_reached');
    t.is(await store.results.countDocuments(), pieces);
    t.is((await files.usage(accountId)).count, 1);

    t.true(await files.delete(accountId, 'large'));
    const { _id: id } = await files.create(accountId, upload());
    t.deepEqual(await files.usage(accountId), {
      count: 1,
      storedBytes: 3,
      maxStoredBytes: FILE_LIMITS.account,
    });
    t.true(await files.delete(accountId, id));
    t.is((await files.usage(accountId)).storedBytes, 0);

    const many = Array.from({ length: MAX_FILES }, (_, i) => ({ ...large, _id: `small${i}`, sizeBytes: 1 }));
    await store.files.insertMany(many);
    t.is(await codeOf(files.assertRoom(accountId, 0)), 'limit_reached');
    t.is(await codeOf(files.create(accountId, upload())), 'limit_reached');
    t.is((await files.usage(accountId)).count, MAX_FILES);
  },
);
