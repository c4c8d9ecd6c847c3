import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { makeAccount, withStore } from './helpers/account.ts';
import { recordAt, recordsAt } from './helpers/json.ts';
import { startDatabase, startNamespace } from './helpers/stack.ts';
import { until } from './helpers/until.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = [
  'activities',
  'api',
  'dev',
  'egress',
  'schemas',
  'store',
  'test',
  'workers',
  'workflows',
  'ava.config.js',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
];

/** All files of a new tool. */
const NEW_FILES = {
  'schemas/tools/reverse-text.ts': `import { defineTool } from '../tool.ts';

export default defineTool({
  name: 'reverse-text',
  title: 'Reverse text',
  description: 'Answers the characters of a text in the opposite order.',
  price: 4,
  pool: 'cpu',
  limits: { workMs: 5_000 },
  input: {
    type: 'object',
    properties: { text: { type: 'string', maxLength: 1000, description: 'Text to reverse.' } },
    required: ['text'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: { text: { type: 'string', description: 'The same, reversed.' } },
    required: ['text'],
    additionalProperties: false,
  },
  examples: [{ input: { text: 'abc' }, output: { text: 'cba' } }],
  errors: [],
});
`,
  'activities/tools/reverse-text.ts': `import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/reverse-text.ts';

export async function run({ text }: ToolInput<typeof definition>): Promise<ToolOutput<typeof definition>> {
  return { text: [...text].reverse().join('') };
}
`,
  'test/tools/reverse-text.test.ts': `import test from 'ava';
import { loadTool } from '../helpers/tool.ts';

test('reverses by characters', async (t) => {
  const tool = await loadTool('reverse-text');
  t.deepEqual(await tool.call({ text: 'a😀b' }), { text: 'b😀a' });
});
`,
};

type StackModule = typeof import('../dev/stack.ts');
const isStackModule = (module: object): module is StackModule =>
  'startService' in module && 'defaultPools' in module;

/** Copies the source tree with the new files; everything else is unchanged. */
async function copyWithTool(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-21-'));
  for (const name of SOURCES) await cp(join(root, name), join(folder, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const [path, text] of Object.entries(NEW_FILES)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text, { flag: 'wx' });
  }
  return folder;
}

test('a new tool is three new files and no changed file', async (t) => {
  await using owned = new AsyncDisposableStack();
  const folder = owned.adopt(await copyWithTool(), (it) => rm(it, { recursive: true, force: true }));
  const { mongodbUri } = owned.adopt(await startDatabase(), (it) => it.stop());
  const { temporalAddress, namespace } = owned.adopt(await startNamespace(), (it) => it.stop());

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
        DATA_DIR: join(folder, '.data'),
        MONGODB_URI: mongodbUri,
        TEMPORAL_ADDRESS: temporalAddress,
        TEMPORAL_NAMESPACE: namespace,
      },
      pools: ['orchestrator', 'cpu'],
      logDir: join(folder, '.data/logs'),
      log: (line) => t.log(line),
    }),
    (it) => it.stop(),
  );
  const { baseUrl } = service;
  const account = await makeAccount({ mongodbUri, baseUrl }, 5);

  const response = await account.call('reverse-text', { text: 'stressed' });
  t.is(response.status, 200);
  t.deepEqual(await response.json(), { text: 'desserts' });
  t.is(response.headers.get('X-Credits-Charged'), '4');
  t.is(response.headers.get('X-Credits-Remaining'), '1');
  const entry = await until('the ledger entry exists', () =>
    withStore({ mongodbUri }, (store) =>
      store.entries.findOne({ accountId: account.accountId, type: 'charge' }),
    ),
  );
  t.like(entry, { tool: 'reverse-text', amount: -4, balanceAfter: 1 });
  t.is((await account.call('reverse-text', { txt: 1 })).status, 422);

  const catalogue = await (await fetch(`${baseUrl}/api/v1/tools`)).json();
  const listed = recordsAt(recordAt(catalogue).items).find(({ name }) => name === 'reverse-text');
  t.like(listed, { title: 'Reverse text', price: 4, pool: 'cpu' });
  // The human-readable reference is generated from this document.
  const spec = await (await fetch(`${baseUrl}/openapi.json`)).json();
  const described = recordAt(spec, 'paths', '/api/v1/tools/reverse-text', 'post');
  t.like(described, { summary: 'Reverse text (4 credits)', 'x-price': 4 });
  t.is((await fetch(`${baseUrl}/docs`)).status, 200);

  const ava = join(folder, 'node_modules/.bin/ava');
  const { stdout } = await promisify(execFile)(process.execPath, [ava, 'test/tools/reverse-text.test.ts'], {
    cwd: folder,
    // Hides this test's own runner from it.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR },
    timeout: 60_000,
  });
  t.regex(stdout, /1 test passed/);
});
