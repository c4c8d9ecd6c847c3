import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import sharp from 'sharp';
import { makeAccount, withStore } from './helpers/account.ts';
import { listen } from './helpers/egress.ts';
import { recordAt, recordsAt } from './helpers/json.ts';
import { NEW_TOOLS } from './helpers/newTools.ts';
import { startDatabase, startNamespace } from './helpers/stack.ts';
import { until } from './helpers/until.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = [
  'activities',
  'api',
  'clients',
  'dev',
  'docs',
  'egress',
  'schemas',
  'platform',
  'store',
  'test',
  'workers',
  'workflows',
  'ava.config.js',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'README.md',
];
const TOOLS = Object.values(NEW_TOOLS);

type StackModule = typeof import('../dev/stack.ts');
const isStackModule = (module: object): module is StackModule =>
  'startService' in module && 'defaultPools' in module;

/** Copies the source tree to a temporary folder and adds these files. No existing file is changed. */
async function copyWith(t: ExecutionContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-copy-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  for (const name of SOURCES) await cp(join(root, name), join(folder, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text, { flag: 'wx' });
  }
  return folder;
}

/** Runs a program in the copy. Resolves with its output. */
async function runIn(folder: string, args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: folder,
    // A minimal environment, so that the test runner in the copy does not notice the test runner around it.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR },
    timeout: 120_000,
  });
  return stdout;
}

test('a new tool of each kind can be added without changing an existing file', async (t) => {
  await using owned = new AsyncDisposableStack();
  const folder = await copyWith(t, Object.assign({}, ...TOOLS.map(({ files }) => files)));
  const { mongodbUri } = owned.adopt(await startDatabase(), (it) => it.stop());
  const { temporalAddress, namespace } = owned.adopt(await startNamespace(), (it) => it.stop());
  const image = await sharp({ create: { width: 16, height: 12, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const site = createServer((_, response) => response.writeHead(203).end(image));
  owned.defer(() => void site.close());
  const url = `http://127.0.0.1:${await listen(site)}/`;

  const module: object = await import(pathToFileURL(join(folder, 'dev/stack.ts')).href);
  if (!isStackModule(module)) throw new Error('dev/stack.ts has changed');
  const service = owned.adopt(
    await module.startService({
      env: {
        NODE_ENV: 'test',
        PORT: '0',
        INTERNAL_PORT: '0',
        RATE_LIMIT: 'off',
        LOG_LEVEL: 'warn',
        EGRESS_ALLOW: '127.0.0.0/8',
        DATA_DIR: join(folder, '.data'),
        MONGODB_URI: mongodbUri,
        TEMPORAL_ADDRESS: temporalAddress,
        TEMPORAL_NAMESPACE: namespace,
      },
      pools: ['orchestrator', 'cpu', 'network'],
      logDir: join(folder, '.data/logs'),
      log: (line) => t.log(line),
    }),
    (it) => it.stop(),
  );
  const { baseUrl } = service;
  const account = await makeAccount({ mongodbUri, baseUrl }, 100);

  let left = 100;
  for (const [tool, input, output] of [
    [NEW_TOOLS.plain, { text: 'stressed' }, { text: 'desserts' }],
    [NEW_TOOLS.picture, { fileUrl: url }, { width: 16, height: 12 }],
    [NEW_TOOLS.network, { url }, { status: 203 }],
    [NEW_TOOLS.program, { text: 'to be or not' }, { words: 4 }],
  ] as const) {
    const { name, price } = tool;
    const response = await account.call(name, input);
    t.deepEqual(
      { status: response.status, body: await response.json() },
      { status: 200, body: output },
      name,
    );
    left -= price;
    t.is(response.headers.get('X-Credits-Charged'), `${price}`);
    t.is(response.headers.get('X-Credits-Remaining'), `${left}`);
    t.is((await account.call(name, { txt: 1 })).status, 422, name);
  }
  const { name, price } = NEW_TOOLS.plain;
  const entry = await until('the ledger entry exists', () =>
    withStore({ mongodbUri }, (store) => store.entries.findOne({ accountId: account.accountId, tool: name })),
  );
  t.like(entry, { type: 'charge', amount: -price, balanceAfter: 100 - price });

  const catalogue = await (await fetch(`${baseUrl}/api/v1/tools`)).json();
  // The human-readable API reference is generated from this OpenAPI document.
  const spec = await (await fetch(`${baseUrl}/openapi.json`)).json();
  for (const { name, title, price } of TOOLS) {
    t.like(
      recordsAt(recordAt(catalogue).items).find((item) => item.name === name),
      { title, price },
    );
    const described = recordAt(spec, 'paths', `/api/v1/tools/${name}`, 'post');
    t.like(described, { summary: `${title} (${price} credits)`, 'x-price': price });
  }
  t.is((await fetch(`${baseUrl}/docs`)).status, 200);

  const ava = join(folder, 'node_modules/.bin/ava');
  const own = TOOLS.map((tool) => `test/tools/${tool.name}.test.ts`);
  t.regex(await runIn(folder, [ava, ...own]), /4 tests passed/);
});

test('a tool consists of three files, and of a fourth if it decodes files of callers', (t) => {
  for (const { name, files } of TOOLS)
    t.is(Object.keys(files).filter((path) => !path.startsWith('activities/jobs/')).length, 3, name);
});

test('a price is changed by editing one line and running `npm run docs`', async (t) => {
  const folder = await copyWith(t, {});
  const definition = join(folder, 'schemas/tools/hash-text.ts');
  const before = await readFile(definition, 'utf8');
  t.is(before.match(/^ {2}price: 1,$/gm)?.length, 1);
  await writeFile(definition, before.replace(/^ {2}price: 1,$/m, '  price: 7,'));

  const printed = await runIn(folder, ['dev/docs.ts']);
  const updated = printed.trimEnd().split('\n');
  t.is(updated[0], 'updated README.md');
  // The clients show prices in their help and their comments.
  t.true(
    updated.length > 1 && updated.slice(1).every((line) => line.startsWith('updated clients/')),
    printed,
  );
  t.regex(await readFile(join(folder, 'README.md'), 'utf8'), /^\| `hash-text` +\| +7 \|/m);
  const spec = JSON.parse(
    await runIn(folder, [
      '--input-type=module',
      '--eval',
      `import { openApiDocument } from ${JSON.stringify(join(folder, 'api/openapi/openapi.ts'))};
       import { loadRegistry } from ${JSON.stringify(join(folder, 'schemas/registry.ts'))};
       const registry = await loadRegistry();
       console.log(JSON.stringify(openApiDocument({ registry, operations: [], serverUrl: null })));`,
    ]),
  );
  const described = recordAt(spec, 'paths', '/api/v1/tools/hash-text', 'post');
  t.like(described, { summary: 'Hash text (7 credits)', 'x-price': 7 });
});
