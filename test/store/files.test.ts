import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { MAX_FILES } from '../../schemas/files.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { jobPolicyOf } from '../../store/calls/callPolicy.ts';
import { mongodbPieces } from '../../store/calls/results.ts';
import { createFileContents, FILE_PIECE_BYTES } from '../../store/files/fileContents.ts';
import { createFiles, FILE_LIMITS } from '../../store/files/files.ts';
import { createCounter } from '../../store/mongo/counters.ts';
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

const DAY_S = 24 * 3600;
/** The counter of the installation. */
const counterOf = (it: Store) =>
  createCounter(it, { name: 'kept-files-of', max: FILE_LIMITS.installationKb, seconds: DAY_S });

test.serial('an upload that its account has no room for takes nothing from the installation', async (t) => {
  const files = createFiles(store, keyring, { rate: 20, burst: 40 });
  const accountId = randomUUID();
  const row = await files.create(accountId, upload());
  await store.files.updateOne({ _id: row._id }, { $set: { sizeBytes: FILE_LIMITS.account } });
  const counter = counterOf(store);
  const before = (await counter.get('all'))?.consumedPoints;
  t.is(await codeOf(files.create(accountId, upload())), 'limit_reached');
  t.is((await counter.get('all'))?.consumedPoints, before);
});

test.serial('a deleted file gives room back only in the window in which it was counted', async (t) => {
  const files = createFiles(store, keyring, { rate: 20, burst: 40 });
  const accountId = randomUUID();
  const counter = counterOf(store);
  await counter.set('all', 100, DAY_S);
  const [first, second] = [await files.create(accountId, upload()), await files.create(accountId, upload())];
  t.is((await counter.get('all'))?.consumedPoints, 102);
  await files.delete(accountId, first._id);
  t.is((await counter.get('all'))?.consumedPoints, 101);
  await counter.set('all', 0, DAY_S + 60);
  await files.delete(accountId, second._id);
  t.is((await counter.get('all'))?.consumedPoints, 0, 'the window began after the upload');
});

test.serial('the pieces of a file stay as long as a job that has begun can need them', async (t) => {
  const { content, expiresAt } = await createFiles(store, keyring, null).create(randomUUID(), upload());
  const piece = await store.results.findOne({ _id: `${content.id}:0` });
  const keptMs = (piece?.expiresAt.getTime() ?? 0) - expiresAt.getTime();
  for (const tool of (await loadRegistry()).values()) {
    if (!('fileUrl' in tool.input.properties)) continue;
    const { deadlineMs } = jobPolicyOf(tool, false, { RATE_LIMIT: null, POOL_WAIT: 1 });
    t.true(keptMs > deadlineMs, `${tool.name}: ${keptMs} > ${deadlineMs}`);
  }
});
