import test from 'ava';
import { PNG } from 'pngjs';
import type { ResultPieceDoc } from '../../store/calls/callDocs.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { auditAccountWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';
import { until } from '../helpers/until.ts';

/** Sizes of the request body in bytes. The API accepts up to 5 MB, and Temporal accepts payloads of up to 2 MB. */
const SIZES = [100_000, 1_900_000, 3_000_000, 5_200_000];
const MARKER = 'a very readable sentence';
const SIZE = { width: 200, height: 100 };

test('an input of the maximum size is processed, stored only encrypted, and deleted with the end of its call', async (t) => {
  t.timeout(120_000);
  await using open = new AsyncDisposableStack();
  const stack = open.adopt(await useStack('full'), (it) => it.stop());
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const stored = new Map<string, ResultPieceDoc>();
  const changes = open.adopt(store.results.watch([], { promoteBuffers: true }), (it) => it.close());
  changes.on('change', (change) => {
    if (change.operationType === 'insert') stored.set(change.documentKey._id, change.fullDocument);
  });
  const account = await makeAccount(stack, 1000);
  for (const size of SIZES) {
    const start = `<body style="margin:0;background:#00ff00"><script>"${MARKER}`;
    const html = `${start}${'.'.repeat(size - start.length)}"</script>`;
    const response = await account.call('html-to-image', { html, ...SIZE }, { Accept: 'image/png' });
    t.is(response.status, 200, `${size} bytes`);
    const { data } = PNG.sync.read(Buffer.from(await response.arrayBuffer()));
    t.deepEqual([...data.subarray(0, 3)], [0, 255, 0], `${size} bytes`);
  }
  const calls = new Set((await callsOf(store, account.accountId)).map(({ _id }) => _id));
  const inputs = () =>
    [...stored].filter(([id]) => calls.has(id.split(':')[0] ?? '') && id.includes(':input:'));
  await until('every input was seen', async () => inputs().length === SIZES.length);
  for (const [, { data, expiresAt }] of inputs()) {
    t.true(data.length > 1000);
    t.false(data.includes(MARKER));
    t.true(expiresAt.getTime() - Date.now() < 16 * 60_000);
  }
  const ids = inputs().map(([id]) => id);
  await until(
    'no input is left',
    async () => (await store.results.countDocuments({ _id: { $in: ids } })) === 0,
  );
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
});
