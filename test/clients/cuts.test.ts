import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import sharp from 'sharp';
import { UtilityTools } from '../../clients/typescript/src/index.ts';
import { machineEnv } from '../../dev/host.mjs';
import type { BatchRow } from '../../schemas/batches.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { batchesOf, linesOf } from '../helpers/batches.ts';
import { findTestPython } from '../helpers/clientPackages.ts';
import { type CuttingProxy, type Direction, startCuttingProxy } from '../helpers/cuttingProxy.ts';
import { useStack } from '../helpers/profiles.ts';
import { type Random, seededRandom } from '../helpers/random.ts';
import type { SharedStack } from '../helpers/stack.ts';

/** Number of connections that are lost in each transfer; soak tests lose more. */
const CUTS = Number(process.env.TEST_CUTS ?? 8);
const PICTURE = { width: 220, height: 160, channels: 3 } as const;

let stack: SharedStack;
let account: TestAccount;
let proxy: CuttingProxy;

test.before(async () => {
  stack = await useStack();
  account = await makeAccount(stack, 1000);
  proxy = await startCuttingProxy(stack.baseUrl);
});
test.after.always(async () => {
  proxy?.close();
  await stack?.stop();
});

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A client behind the proxy. @param onStatus called with the status of each response */
const clientOf = (onStatus: (status: number) => void = () => {}): UtilityTools =>
  new UtilityTools({
    apiKey: account.toolsKey,
    baseUrl: proxy.baseUrl,
    retryDelayMs: 1,
    async fetch(url, init) {
      const response = await fetch(url, init);
      onStatus(response.status);
      return response;
    },
  });

/** A picture that cannot be made smaller. */
const pictureOf = (random: Random): Promise<Buffer> =>
  sharp(random.bytes(PICTURE.width * PICTURE.height * PICTURE.channels), { raw: PICTURE })
    .png()
    .toBuffer();

/** Makes a transfer once, and again with a connection that is lost after each of some random numbers of its bytes. */
async function withCuts(
  t: ExecutionContext,
  random: Random,
  direction: Direction,
  transfer: () => Promise<unknown>,
): Promise<void> {
  const before = proxy.passed(direction);
  await transfer();
  const bytes = proxy.passed(direction) - before;
  const earlier = proxy.cuts();
  for (let cut = 0; cut < CUTS; cut++) {
    const after = random.integer(0, bytes - 1);
    t.log(`${direction}: the connection is lost after ${after} of ${bytes} bytes`);
    proxy.cutAfter(direction, after);
    await transfer();
  }
  // Responses have headers of other lengths now and then.
  t.true(proxy.cuts() - earlier >= CUTS / 2);
}

test.serial('a file is uploaded whole, at whatever byte the connection is lost', async (t) => {
  const random = seededRandom(t.log);
  const client = clientOf();
  const content = await pictureOf(random);
  const upload = async () => {
    const file = await client.files.upload(new Blob([new Uint8Array(content)]), 'noise.png');
    t.like(file, { sha256: sha256(content), sizeBytes: content.length });
    t.like(await client.files.get(file.id), { sha256: sha256(content) });
  };
  for (const direction of ['sent', 'received'] as const) await withCuts(t, random, direction, upload);
});

test.serial(
  'the file of a result is downloaded whole, and a lost download goes on where it ended',
  async (t) => {
    const random = seededRandom(t.log);
    const statuses: number[] = [];
    const client = clientOf((status) => statuses.push(status));
    const { id: fileUrl } = await client.files.upload(
      new Blob([new Uint8Array(await pictureOf(random))]),
      'noise.png',
    );
    const made = await account.call('watermark-image', { fileUrl, text: 'a', output: 'link' });
    t.is(made.status, 200);
    const { fileUrl: address } = await made.json();
    const whole = new Uint8Array(await (await fetch(address)).arrayBuffer());
    const { pathname, search } = new URL(address);
    statuses.length = 0;
    await withCuts(t, random, 'received', async () => {
      const file = await client.files.download(`${proxy.baseUrl}${pathname}${search}`);
      t.is(file.type, 'image/png');
      t.is(sha256(new Uint8Array(await file.arrayBuffer())), sha256(whole));
    });
    t.true(statuses.includes(206), statuses.join());

    // Of another version of the file, nothing that has arrived is kept.
    let versions = 0;
    const changing = new UtilityTools({
      apiKey: account.toolsKey,
      retryDelayMs: 1,
      async fetch(_url, init) {
        versions += 1;
        const range = new Headers(init?.headers).get('Range');
        const headers = { ETag: `"${versions}"`, 'Content-Length': '4' };
        t.is(range, versions === 1 ? null : 'bytes=2-');
        return new Response(versions === 1 ? 'ol' : 'news'.slice(0, 4), { headers });
      },
    });
    t.is(await (await changing.files.download('https://example.com/a')).text(), 'news');
    await t.throwsAsync(client.files.download(`${proxy.baseUrl}${pathname}?token=x`), {
      message: /not_found/,
    });
  },
);

test.serial('Python: the file of a result is downloaded whole', async (t) => {
  t.timeout(240_000);
  const random = seededRandom(t.log);
  const python = await findTestPython((line) => t.log(line));
  const { id: fileUrl } = await clientOf().files.upload(
    new Blob([new Uint8Array(await pictureOf(random))]),
    'noise.png',
  );
  const { fileUrl: address } = await (
    await account.call('watermark-image', { fileUrl, text: 'a', output: 'link' })
  ).json();
  const whole = new Uint8Array(await (await fetch(address)).arrayBuffer());
  const { pathname, search } = new URL(address);
  // The connection is lost within each of the downloads.
  const cutting = setInterval(() => {
    if (proxy.isWhole()) proxy.cutAfter('received', random.integer(0, whole.length));
  }, 1);
  try {
    const { stdout } = await promisify(execFile)(
      python,
      [fileURLToPath(new URL('cuts.py', import.meta.url))],
      {
        env: {
          ...machineEnv(),
          PYTHONPATH: fileURLToPath(new URL('../../clients/python/src', import.meta.url)),
          PYTHONDONTWRITEBYTECODE: '1',
          API_KEY: account.toolsKey,
          BASE_URL: proxy.baseUrl,
          FILE_URL: `${proxy.baseUrl}${pathname}${search}`,
          TIMES: String(CUTS),
        },
      },
    );
    t.deepEqual(
      JSON.parse(stdout),
      Array.from({ length: 2 * CUTS }, () => sha256(whole)),
    );
  } finally {
    clearInterval(cutting);
    proxy.cutAfter('received', Number.POSITIVE_INFINITY);
  }
});

interface Progress {
  name: string;
  revision: number;
  batch: BatchRow;
}

/** Follows a batch to its end as a browser does: connects again with the id of the last whole event. */
async function follow(id: string): Promise<Progress[]> {
  const events: Progress[] = [];
  for (;;) {
    const last = events.at(-1);
    try {
      const response = await fetch(`${proxy.baseUrl}/api/v1/batches/${id}/events`, {
        headers: {
          Authorization: `Bearer ${account.toolsKey}`,
          ...(last !== undefined && { 'Last-Event-ID': String(last.revision) }),
        },
      });
      if (response.status === 204) return events;
      if (response.status !== 200 || response.body === null) throw new Error(`status ${response.status}`);
      let rest = '';
      for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
        const parts = (rest + text).split('\n\n');
        rest = parts.pop() ?? '';
        for (const part of parts) {
          const [, name, revision, data] = /^event: (\w+)\nid: (\d+)\ndata: (.+)$/.exec(part) ?? [];
          if (name === undefined || data === undefined) continue;
          events.push({ name, revision: Number(revision), batch: JSON.parse(data) });
        }
      }
      if (events.at(-1)?.name === 'end') return events;
    } catch (error) {
      // `fetch` reports a lost connection as a TypeError.
      if (!(error instanceof TypeError)) throw error;
    }
  }
}

test.serial('the progress of a batch is followed to its end, and each state is told once', async (t) => {
  const random = seededRandom(t.log);
  const batches = batchesOf(account, stack.baseUrl);
  const inputs = Array.from({ length: 40 }, (_, i) => ({ text: `${i}` }));
  const followed = async (id: string) => {
    const events = await follow(id);
    const revisions = events.map(({ revision }) => revision);
    t.deepEqual(
      revisions,
      [...new Set(revisions)].sort((a, b) => a - b),
    );
    t.is(events.filter(({ name }) => name === 'end').length, 1);
    t.deepEqual(events.at(-1)?.batch, await batches.get(id));
  };
  const { id } = await batches.create({ tool: 'hash-text', inputs });
  proxy.cutAfter('received', random.integer(0, 1500));
  await followed(id);
  await withCuts(t, random, 'received', () => followed(id));
});

test.serial('the results of a batch are downloaded once each', async (t) => {
  const random = seededRandom(t.log);
  const client = clientOf();
  const batches = batchesOf(account, stack.baseUrl);
  const inputs = Array.from({ length: 150 }, (_, i) => ({ text: `${i}` }));
  const { id } = await batches.create({ tool: 'hash-text', inputs });
  await batches.reached(id);
  for (const order of ['input', 'completion'] as const) {
    const direct = linesOf(await (await batches.request(`/${id}/results?order=${order}`)).text());
    t.is(direct.length, inputs.length);
    await withCuts(t, random, 'received', async () => {
      const rows: object[] = [];
      for await (const row of client.batches.results(id, { order })) rows.push(row);
      t.deepEqual(rows, direct);
    });
  }
});
