import { createServer, type Server } from 'node:http';
import { availableParallelism } from 'node:os';
import test from 'ava';
import { memoryOf } from '../../activities/browser/processes.ts';
import { POOL_TABLE, POOLS } from '../../schemas/pools.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { listen } from '../helpers/egress.ts';
import { documentSeeds, unusualDocuments } from '../helpers/hostile/documents.ts';
import { type HostileFile, mutate } from '../helpers/hostile/file.ts';
import { imageSeeds, unusualImages } from '../helpers/hostile/images.ts';
import { auditWhenIdle } from '../helpers/ledgerCheck.ts';
import { childrenOf } from '../helpers/processes.ts';
import { type Random, seededRandom } from '../helpers/random.ts';
import { type Stack, startStack } from '../helpers/stack.ts';

/** Number of mutated files to process. */
const FILES = Number(process.env.TEST_FILES ?? 150);
const CONCURRENCY = 6;
const SAMPLE_EVERY_MS = 100;
const HEAVY = new Set(['image-upscale', 'word-to-pdf']);
/** Memory limit of a worker's main process, in bytes. */
const WORKER_BYTES = 2 ** 30;
/**
 * Memory that Node.js itself uses in a decoder process, in bytes, including pages that it maps at its start without
 * using them.
 */
const NODE_BYTES = 700 * 2 ** 20;

let stack: Stack;
let store: Store;
let account: TestAccount;
let web: Server;
let origin: string;
const files = new Map<string, HostileFile>();
const peaks = new Map<string, number>();
let watch: NodeJS.Timeout;
let pids: Record<string, number | undefined>;

const workerPids = () => Object.fromEntries(stack.names.map((name) => [name, stack.pid(name)]));

/** Records the peak memory of each worker and of its decoder processes. */
function recordPeaks(): void {
  const record = (name: string, pid: number) =>
    peaks.set(name, Math.max(peaks.get(name) ?? 0, memoryOf([pid])));
  for (const pool of POOLS) {
    const pid = stack.pid(pool);
    if (pid === undefined) continue;
    record(pool, pid);
    for (const child of childrenOf(pid, /decoders\/child\.ts/)) record(`${pool} job`, child);
  }
}

test.before(async (t) => {
  t.timeout(600_000);
  web = createServer(({ url = '' }, response) => {
    const file = files.get(url);
    response.setHeader('Content-Type', file?.contentType ?? 'application/octet-stream').end(file?.bytes);
  });
  const port = await listen(web);
  origin = `http://127.0.0.1:${port}`;
  stack = await startStack({ pools: ['orchestrator', ...POOLS], env: { EGRESS_ALLOW: `127.0.0.1:${port}` } });
  store = await openStore(stack.mongodbUri);
  account = await makeAccount(stack, 100_000_000);
  pids = workerPids();
  watch = setInterval(recordPeaks, SAMPLE_EVERY_MS);
});
test.after.always(async () => {
  clearInterval(watch);
  await store?.close();
  await stack?.stop();
  web?.close();
});

/** Serves a file over HTTP and calls a tool with its URL. @returns the status, and the error code if the call failed */
async function callWithFile(tool: string, file: HostileFile, body: Record<string, unknown>): Promise<string> {
  const path = `/${files.size}-${tool}`;
  files.set(path, file);
  try {
    const field = file.kind === 'page' ? 'url' : 'fileUrl';
    const response = await account.call(tool, { [field]: origin + path, ...body });
    const text = await response.text();
    const code = response.status === 200 ? '' : ` ${/"code":"(\w+)"/.exec(text)?.[1]}`;
    return `${response.status}${code}`;
  } finally {
    files.set(path, { ...file, bytes: Buffer.alloc(0) });
  }
}

type ToolCall = [tool: string, body: Record<string, unknown>];

/**
 * Returns the calls of the tools that read this kind of file. Expensive tools are called for only one file in `every`.
 */
function toolsFor({ kind, bytes }: HostileFile, random: Random, every: number): ToolCall[] {
  const expensive = random.integer(1, every) === 1;
  switch (kind) {
    case 'image':
      return bytes.toString('latin1', 0, 2) === 'BM' || expensive
        ? [['image-upscale', { factor: random.pick([2, 4]) }]]
        : [['watermark-image', { text: 'mark', position: random.pick(['tile', 'center', 'top-left']) }]];
    case 'pdf':
      return [['pdf-metadata', {}]];
    case 'document':
      return [['word-to-pdf', {}]];
    case 'page':
      return expensive ? [['website-screenshot', {}]] : [[random.pick(['web-scrape', 'seo-meta']), {}]];
  }
}

/**
 * Sends all calls with limited concurrency. @returns how often each result occurred, and the calls that ended with
 * internal errors
 */
async function sendAll(
  list: Iterable<readonly [HostileFile, ToolCall]>,
): Promise<{ counts: Map<string, number>; errors: string[] }> {
  const counts = new Map<string, number>();
  const errors: string[] = [];
  const remaining = list[Symbol.iterator]();
  // Calls of the heavy pool run one at a time: the pool may have only one slot, which a document can occupy for a
  // minute, and further calls would be refused as pool_busy.
  let heavy: Promise<unknown> = Promise.resolve();
  const callHeavy = (...call: Parameters<typeof callWithFile>): Promise<string> => {
    const result = heavy.then(() => callWithFile(...call));
    heavy = Promise.allSettled([result]);
    return result;
  };
  const callNext = async () => {
    for (let next = remaining.next(); next.done !== true; next = remaining.next()) {
      const [file, [tool, body]] = next.value;
      const result = await (HEAVY.has(tool) ? callHeavy(tool, file, body) : callWithFile(tool, file, body));
      counts.set(`${tool} ${result}`, (counts.get(`${tool} ${result}`) ?? 0) + 1);
      if (!/^(?:200|422|502|504)/.test(result)) errors.push(`${file.name}, ${tool}: ${result}`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, callNext));
  return { counts, errors };
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MB`;

test.serial('dense, deep and damaged files crash no worker and cause no internal error', async (t) => {
  t.timeout(1_200_000);
  const random = seededRandom(t.log);
  const { counts, errors } = await sendAll(
    [...(await unusualImages()), ...unusualDocuments()].flatMap((file) => {
      const tools = new Map([...toolsFor(file, random, 1), ...toolsFor(file, random, 1_000_000)]);
      return [...tools].map((tool) => [file, tool] as const);
    }),
  );
  for (const [result, count] of [...counts].sort()) t.log(result, count);
  t.deepEqual(errors, []);
  t.deepEqual(workerPids(), pids);
});

test.serial(`${FILES} mutated files crash no worker and cause no internal error`, async (t) => {
  t.timeout(86_400_000);
  const random = seededRandom(t.log);
  const seeds = { image: await imageSeeds(), ...documentSeeds() };
  function* mutatedFiles(): Generator<readonly [HostileFile, ToolCall]> {
    for (let at = 0; at < FILES; at++) {
      // LibreOffice and Chromium take seconds per file, the other decoders milliseconds.
      const kind = random.pick([
        'image',
        'image',
        'image',
        'pdf',
        'pdf',
        'page',
        at % 20 === 0 ? 'document' : 'page',
      ] as const);
      const bytes = mutate(random.pick(seeds[kind]), random);
      const file: HostileFile = {
        name: `file ${at}`,
        kind,
        bytes,
        ...(kind === 'page' ? { contentType: 'text/html' } : {}),
      };
      for (const tool of toolsFor(file, random, 10)) yield [file, tool];
    }
  }
  const { counts, errors } = await sendAll(mutatedFiles());
  for (const [result, count] of [...counts].sort()) t.log(result, count);
  t.deepEqual(errors, []);
  t.deepEqual(workerPids(), pids);
});

test.serial('each worker and each decoder process stayed within its memory limit', (t) => {
  for (const [name, peak] of peaks) t.log(name, megabytes(peak));
  for (const pool of POOLS) {
    t.true(
      (peaks.get(pool) ?? Infinity) < WORKER_BYTES,
      `${pool}: ${megabytes(peaks.get(pool) ?? Infinity)}`,
    );
    const job = peaks.get(`${pool} job`) ?? 0;
    t.true(job < POOL_TABLE[pool].jobMemory * 2 ** 30 + NODE_BYTES, `${pool} job: ${megabytes(job)}`);
    t.true(childrenOf(stack.pid(pool) ?? 0, /decoders\/child\.ts/).length <= availableParallelism());
  }
});

test.serial('after all calls the ledger is consistent', async (t) => {
  t.timeout(300_000);
  t.deepEqual(await auditWhenIdle(store), []);
});
