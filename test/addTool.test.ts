import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import sharp from 'sharp';
import { makeAccount, withStore } from './helpers/account.ts';
import { listen } from './helpers/egress.ts';
import { recordAt, recordsAt } from './helpers/json.ts';
import { NEW_TOOLS } from './helpers/newTools.ts';
import { copyProject, runIn, startCopy } from './helpers/projectCopy.ts';
import { until } from './helpers/until.ts';

const TOOLS = Object.values(NEW_TOOLS);

test('a new tool of each kind can be added without changing an existing file', async (t) => {
  await using owned = new AsyncDisposableStack();
  const folder = await copyProject(t, Object.assign({}, ...TOOLS.map(({ files }) => files)));
  const image = await sharp({ create: { width: 16, height: 12, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const site = createServer((_, response) => response.writeHead(203).end(image));
  owned.defer(() => void site.close());
  const url = `http://127.0.0.1:${await listen(site)}/`;

  const { baseUrl, mongodbUri } = await startCopy(t, owned, folder, ['orchestrator', 'cpu', 'network']);
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
  const folder = await copyProject(t, {});
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
