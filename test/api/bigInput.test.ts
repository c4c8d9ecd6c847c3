import test from 'ava';
import { PNG } from 'pngjs';
import { makeAccount, withStore } from '../helpers/account.ts';
import { auditAccountWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';

/** Sizes of the request body in bytes. The API accepts up to 5 MB, and Temporal accepts payloads of up to 2 MB. */
const SIZES = [100_000, 1_900_000, 3_000_000, 5_200_000];
const MARKER = 'a very readable sentence';
const SIZE = { width: 200, height: 100 };

test('an input of the maximum size is processed, and is stored nowhere in plaintext', async (t) => {
  t.timeout(120_000);
  await using open = new AsyncDisposableStack();
  const stack = open.adopt(await useStack('full'), (it) => it.stop());
  const account = await makeAccount(stack, 1000);
  for (const size of SIZES) {
    const start = `<body style="margin:0;background:#00ff00"><script>"${MARKER}`;
    const html = `${start}${'.'.repeat(size - start.length)}"</script>`;
    const response = await account.call('html-to-image', { html, ...SIZE }, { Accept: 'image/png' });
    t.is(response.status, 200, `${size} bytes`);
    const { data } = PNG.sync.read(Buffer.from(await response.arrayBuffer()));
    t.deepEqual([...data.subarray(0, 3)], [0, 255, 0], `${size} bytes`);
  }
  await withStore(stack, async (store) => {
    const calls = new Set((await callsOf(store, account.accountId)).map(({ _id }) => _id));
    const all = await store.results.find({}, { promoteBuffers: true }).toArray();
    const kept = all.filter(({ _id }) => calls.has(_id.split(':')[0] ?? ''));
    t.is(kept.filter(({ _id }) => _id.includes(':input:')).length, SIZES.length);
    for (const { data, expiresAt } of kept) {
      t.false(Buffer.from(data).includes(MARKER));
      t.true(expiresAt.getTime() - Date.now() < 16 * 60_000);
    }
    t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
  });
});
