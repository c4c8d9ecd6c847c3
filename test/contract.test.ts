import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import test, { type ExecutionContext } from 'ava';
import { load } from 'cheerio';
import sharp from 'sharp';
import { EVENTS } from '../schemas/events.ts';
import { loadRegistry } from '../schemas/registry.ts';
import { secretFields, type ToolDefinition } from '../schemas/tool.ts';
import { openStore, type Store } from '../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from './helpers/account.ts';
import { KEY_VARIABLE } from './helpers/agentClients.ts';
import { newOwner } from './helpers/dashboard.ts';
import { isRecord, type Json, recordAt, recordsAt } from './helpers/json.ts';
import { auditAccountWhenIdle } from './helpers/ledgerCheck.ts';
import { connectMcp, ERAS } from './helpers/mcp.ts';
import { PRICES } from './helpers/prices.ts';
import { useStack } from './helpers/profiles.ts';
import type { SharedStack } from './helpers/stack.ts';
import { runSnippets, SNIPPET_LANGUAGES, snippetsOfPage } from './helpers/toolSnippets.ts';
import { until } from './helpers/until.ts';
import { type WorldNames, worldOf } from './helpers/world.ts';

/** Tools whose examples show other servers than the local ones. Their outputs have only the same format. */
const OTHER_SERVERS = new Set(['broken-links', 'ping', 'ssl-check']);
/**
 * Output fields that vary for the same input: times, random salts, TTLs of DNS records, which count down while an answer is
 * cached, headers of the server, and files, which depend on the versions of fonts and encoders.
 */
const VARIABLE: Readonly<Record<string, readonly string[]>> = {
  'bcrypt-hash': ['hash'],
  'dns-lookup': ['ttl'],
  'html-to-image': ['fileBase64'],
  'http-request': ['headers', 'elapsedMs'],
  'image-upscale': ['fileBase64', 'sizeBytes'],
  'smtp-test': ['command', 'ms'],
  'watermark-image': ['fileBase64', 'sizeBytes'],
  'website-screenshot': ['fileBase64'],
  'word-to-pdf': ['fileBase64', 'sizeBytes'],
};
/** Maximum body size of tools that set no limit of their own: 1 MiB. */
const BODY_BYTES = 1_048_576;
const CREDITS = 10_000;

/** Calls with the options of the tools beyond their basic fields, and a part of the output that each option causes. */
const OPTIONS: readonly { tool: string; input: Json; shows: RegExp }[] = [
  {
    tool: 'web-scrape',
    input: {
      url: 'https://example.com/article.html',
      // An unchecked box of the form means false.
      includeText: true,
      content: 'main',
      format: 'markdown',
    },
    shows: /the [*_]ferries[*_] lay/,
  },
  {
    tool: 'website-screenshot',
    input: {
      url: 'https://example.com/article.html',
      selector: 'h1',
      waitFor: 10,
      colorScheme: 'dark',
      reducedMotion: true,
      omitBackground: true,
      format: 'webp',
    },
    shows: /image\/webp/,
  },
  {
    tool: 'html-to-image',
    input: { html: '<p id="late">Hi</p>', waitFor: '#late', device: 'iPad', format: 'pdf' },
    shows: /application\/pdf/,
  },
  { tool: 'ssl-check', input: { host: 'example.com:443', survey: true }, shows: /TLSv1\.3/ },
  {
    tool: 'broken-links',
    input: { url: 'https://example.com/article.html', checkFragments: true },
    shows: /#missing/,
  },
  {
    tool: 'smtp-test',
    input: { host: 'mail.example.com', port: 2525, encryption: 'none', domain: 'example.com' },
    shows: /The mail server backup\.example\.net has no address/,
  },
];

const registry = await loadRegistry();
const tools = [...registry.values()];

let world: WorldNames;
let stack: SharedStack;
let store: Store;
let account: TestAccount;

test.before(async () => {
  stack = await useStack('full');
  world = worldOf(stack.env);
  store = await openStore(stack.mongodbUri);
  account = await makeAccount(stack, CREDITS);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

/** Neither applies defaults nor converts types, because values must be checked as they are. */
const ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false });
addFormats.default(ajv);
const fits = (schema: object, value: unknown): string | null =>
  ajv.validate(schema, value) ? null : ajv.errorsText();

const exampleOf = ({ examples: [first], name }: ToolDefinition) => {
  if (first === undefined) throw new Error(`${name} has no example`);
  return first;
};

/** The page of a tool in the documentation. */
const pageOf = async (name: string): Promise<string> =>
  (await fetch(`${stack.baseUrl}/docs/tools/${name}`)).text();

async function refusalOf(response: Response): Promise<Json> {
  const body: unknown = await response.json();
  return { status: response.status, ...(isRecord(body) ? body : {}) };
}
const pointers = (refusal: Json): unknown[] => recordsAt(refusal.errors).map(({ pointer }) => pointer);

/** Values that a lenient parser would convert to the expected type. */
const LOOKALIKES = ['4', 'true', '', 4, 1, true, null, ['a'], { a: 1 }];
const wrongValues = (schema: object): unknown[] => LOOKALIKES.filter((value) => fits(schema, value) !== null);

/** Returns all object schemas within a schema, including the schema itself. */
function objectSchemas(schema: unknown): Json[] {
  if (Array.isArray(schema)) return schema.flatMap(objectSchemas);
  if (!isRecord(schema)) return [];
  const inner = Object.values(schema).flatMap(objectSchemas);
  return schema.type === 'object' && isRecord(schema.properties) ? [schema, ...inner] : inner;
}

/** Checks that an output has the format of the tool, and the values of the example where they do not vary. */
function assertShown(
  t: ExecutionContext,
  { name, output: schema }: ToolDefinition,
  output: unknown,
  example: Json,
) {
  t.is(fits(schema, output), null, name);
  if (OTHER_SERVERS.has(name)) return;
  const lasting = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value, (field, it) => (VARIABLE[name]?.includes(field) ? undefined : it)));
  t.deepEqual(lasting(world.globalise(output)), lasting(example), name);
}

for (const tool of tools) {
  const { name, price } = tool;

  test(`${name}: the definition is complete`, (t) => {
    t.is(PRICES[name] ?? price, price);
    t.true(tool.title.length > 0 && tool.description.length > 40);
    for (const schema of [tool.input, tool.output].flatMap(objectSchemas)) {
      t.is(schema.additionalProperties, false);
      for (const [field, property] of Object.entries(recordAt(schema.properties)))
        t.is(typeof recordAt(property).description, 'string', field);
    }
    for (const schema of objectSchemas(tool.output))
      t.deepEqual([...[schema.required].flat()].sort(), Object.keys(recordAt(schema.properties)).sort());
    t.true(tool.examples.length > 0);
    for (const { input, output } of tool.examples) {
      t.is(fits(tool.input, input), null);
      t.is(fits(tool.output, output), null);
    }
  });

  test.serial(`${name}: each example returns the documented output and costs the price`, async (t) => {
    for (const { input, output } of tool.examples) {
      const before = await store.accounts.findOne({ _id: account.accountId });
      const response = await account.call(name, world.localise(tool.pool, input));
      t.is(response.status, 200);
      t.regex(response.headers.get('Content-Type') ?? '', /^application\/json\b/);
      const { headers } = response;
      t.is(headers.get('X-Credits-Cost'), String(price));
      t.is(headers.get('X-Credits-Charged'), String(price));
      t.is(headers.get('X-Credits-Remaining'), String((before?.balance ?? 0) - price));
      assertShown(t, tool, await response.json(), output);
    }
  });

  test.serial(
    `${name}: the example returns the documented output through MCP, with files as content items`,
    async (t) => {
      const { input, output } = exampleOf(tool);
      const args = world.localise(tool.pool, input);
      // A call that can be replayed runs once: clients of the second era get the result of the first.
      const replays = secretFields(tool).length === 0;
      const own = await makeAccount(stack, replays ? price : price * ERAS.length);
      for (const [index, era] of ERAS.entries()) {
        await using connection = await connectMcp(stack.baseUrl, own.toolsKey, era);
        // After listing the tools, the MCP client validates results against the listed output schema.
        await connection.client.listTools();
        const result = await connection.client.callTool({
          name,
          arguments: args,
          ...(replays && { _meta: { idempotencyKey: 'eras' } }),
        });
        t.falsy(result.isError, JSON.stringify(result.structuredContent));
        t.like(result._meta, { cost: price, charged: replays && index > 0 ? 0 : price });
        if (index === ERAS.length - 1) t.like(result._meta, { remaining: 0 });
        const { raw } = tool;
        if (raw === undefined) {
          assertShown(t, tool, result.structuredContent, output);
          continue;
        }
        const fields = recordAt(result.structuredContent);
        t.deepEqual(
          Object.keys(fields).sort(),
          Object.keys(tool.output.properties)
            .filter((field) => field !== raw.data)
            .sort(),
        );
        const [file] = result.content;
        if (file?.type !== 'image' && file?.type !== 'resource') throw new Error('the result has no file');
        const { data, mimeType } =
          file.type === 'image'
            ? file
            : { data: 'blob' in file.resource ? file.resource.blob : '', mimeType: file.resource.mimeType };
        t.is(file.type, mimeType?.startsWith('image/') ? 'image' : 'resource');
        t.is(mimeType, String(fields[raw.mimeType]));
        t.is(fits(tool.output, { ...fields, [raw.data]: data }), null);
      }
    },
  );

  test.serial(`${name}: the price is the same everywhere`, async (t) => {
    const own = await makeAccount(stack, price);
    const response = await own.call(name, world.localise(tool.pool, exampleOf(tool).input));
    t.is(response.headers.get('X-Credits-Charged'), String(price));
    const catalogue = await (await fetch(`${stack.baseUrl}/api/v1/tools`)).json();
    const listed = recordsAt(recordAt(catalogue).items).find((item) => item.name === name);
    t.is(listed?.price, price);
    const spec = await (await fetch(`${stack.baseUrl}/openapi.json`)).json();
    t.is(recordAt(spec, 'paths', `/api/v1/tools/${name}`, 'post')['x-price'], price);
    const entry = await until('the ledger entry exists', () =>
      store.entries.findOne({ accountId: own.accountId, type: 'charge' }),
    );
    t.like(entry, { amount: -price, tool: name, balanceAfter: 0 });
    const call = await until('the call document exists', () =>
      store.calls.findOne({ accountId: own.accountId, state: 'charged' }),
    );
    t.like(call, { cost: price, charged: price, tool: name });
    const refused = await refusalOf(await own.call(name, exampleOf(tool).input));
    t.like(refused, { status: 402, code: 'insufficient_credits', available: 0, cost: price });
  });

  test(`${name}: unknown, missing and mistyped fields are all reported at once`, async (t) => {
    const { input } = exampleOf(tool);
    const unknown = await refusalOf(await account.call(name, { ...input, 'no/such~field': 1 }));
    t.like(unknown, { status: 422, code: 'invalid_input' });
    t.deepEqual(pointers(unknown), ['/no~1such~0field']);

    for (const field of tool.input.required) {
      const { [field]: _left, ...rest } = input;
      const missing = await refusalOf(await account.call(name, rest));
      t.is(missing.status, 422);
      t.true(pointers(missing).includes(`/${field}`), field);
    }

    const wrong = Object.entries(tool.input.properties).map(([field, schema]) => ({
      field,
      values: wrongValues(schema),
    }));
    for (const { field, values } of wrong)
      for (const value of values) {
        const refused = await refusalOf(await account.call(name, { ...input, [field]: value }));
        t.is(refused.status, 422, `${field}: ${JSON.stringify(value)}`);
        // The fault of an array or object may be reported at one of its members.
        const named = pointers(refused).filter((it) => `${it}/`.startsWith(`/${field}/`));
        t.true(named.length > 0, `${field}: ${JSON.stringify(value)}`);
      }

    // An error lists at most 20 faults; the test corrects these and sends the input again to find the others.
    const left = new Map<string, unknown>([
      ['extra', 1],
      ...wrong.map(({ field, values }) => [field, values[0]] as const),
    ]);
    for (let more = true; more; ) {
      const refused = await refusalOf(await account.call(name, { ...input, ...Object.fromEntries(left) }));
      const named = new Set(pointers(refused).map((pointer) => String(pointer).slice(1)));
      for (const field of named) t.true(left.delete(field), `${field} is at fault, once`);
      more = refused.moreErrors !== undefined;
      t.true(!more || recordsAt(refused.errors).length === 20);
    }
    t.deepEqual([...left.keys()], []);
  });

  test(`${name}: a lone surrogate is a fault in every string`, async (t) => {
    const { input } = exampleOf(tool);
    const message = 'contains a lone surrogate, which UTF-8 cannot encode';
    for (const field of Object.keys(tool.input.properties))
      for (const text of ['\ud800', '.a\udc00']) {
        const refused = await refusalOf(await account.call(name, { ...input, [field]: text }));
        t.like(refused, { status: 422, code: 'invalid_input' }, field);
        const named = recordsAt(refused.errors).filter((fault) => fault.message === message);
        t.deepEqual(named, [{ pointer: `/${field}`, message }], field);
      }
  });

  const optional = Object.entries(tool.input.properties).filter(([, schema]) => 'default' in schema);
  if (optional.length > 0 && secretFields(tool).length === 0)
    test(`${name}: omitted fields have their documented defaults`, async (t) => {
      const defaults = Object.fromEntries(optional.map(([field, schema]) => [field, schema.default]));
      const rest = Object.entries(world.localise(tool.pool, exampleOf(tool).input)).filter(
        ([field]) => !(field in defaults),
      );
      const bare = Object.fromEntries(rest);
      const key = { 'Idempotency-Key': `defaults-${name}` };
      const first = await account.call(name, bare, key);
      const second = await account.call(name, { ...bare, ...defaults }, key);
      // The idempotency fingerprint covers the input after defaults are applied, so a replay shows that both inputs are
      // equal.
      t.is(second.headers.get('Idempotent-Replayed'), 'true');
      t.is(await second.text(), await first.text());
    });

  test(`${name}: accepts one JSON object by POST, and only with an API key`, async (t) => {
    const url = `${stack.baseUrl}/api/v1/tools/${name}`;
    for (const body of ['', '[]', 'null', '"text"', '1', '{', '{"a":1}x', '\u{feff}{']) {
      const refused = await refusalOf(await account.call(name, body));
      t.like(refused, { status: 400, code: 'malformed_json' }, body);
    }
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
    ]) {
      const refused = await refusalOf(await account.call(name, '{}', { 'Content-Type': type }));
      t.like(refused, { status: 415, code: 'unsupported_media_type' }, type);
    }
    for (const method of ['GET', 'PUT', 'DELETE', 'PROPFIND']) {
      const response = await fetch(url, { method });
      t.is(response.headers.get('Allow'), 'POST', method);
      t.like(await refusalOf(response), { status: 405, code: 'method_not_allowed' }, method);
    }
    const anonymous = await fetch(url, { method: 'POST' });
    t.is(anonymous.headers.get('WWW-Authenticate'), 'Bearer');
    t.like(await refusalOf(anonymous), { status: 401, code: 'missing_api_key' });
  });

  test(`${name}: the body limit is exact to the byte`, async (t) => {
    const limit = tool.limits.bodyBytes ?? BODY_BYTES;
    // White space before a body that is invalid, so that a body within the limit is refused for its content and not for
    // its size.
    const body = (bytes: number) => `${' '.repeat(bytes - 1)}[`;
    t.like(await refusalOf(await account.call(name, body(limit))), { code: 'malformed_json' });
    t.like(await refusalOf(await account.call(name, body(limit + 1))), {
      status: 413,
      code: 'body_too_large',
    });
  });
}

for (const { tool: name, input, shows } of OPTIONS)
  test.serial(`${name}: its options work through MCP and through the form of the dashboard`, async (t) => {
    const tool = registry.get(name);
    if (tool === undefined) return t.fail();
    const args = world.localise(tool.pool, input);
    await using connection = await connectMcp(stack.baseUrl, account.toolsKey);
    await connection.client.listTools();
    const { isError, structuredContent } = await connection.client.callTool({ name, arguments: args });
    t.falsy(isError, JSON.stringify(structuredContent));
    t.regex(JSON.stringify(structuredContent), shows);

    const owner = await newOwner(stack);
    const page = await (await owner.get(`/tools/${name}`)).text();
    for (const field of Object.keys(input)) t.true(page.includes(` name="${field}"`), field);
    const fields = Object.fromEntries(Object.entries(args).map(([field, value]) => [field, String(value)]));
    const tried = await owner.post(`/tools/${name}`, fields);
    t.is(tried.status, 200);
    const text = await tried.text();
    t.regex(text, shows);
    t.regex(text, new RegExp(`${tool.price} credits? charged`));
  });

for (const language of SNIPPET_LANGUAGES)
  test.serial(`${language}: the snippets of all tools run as their pages show them`, async (t) => {
    const calls = await Promise.all(
      tools.map(async (tool) => {
        const codes = snippetsOfPage(await pageOf(tool.name), language);
        t.is(codes.length, tool.examples.length, tool.name);
        return tool.examples.map(({ input, output }, index) => {
          const code = Object.entries(world.localise(tool.pool, input)).reduce(
            (text, [field, value]) => text.replaceAll(JSON.stringify(input[field]), JSON.stringify(value)),
            codes[index] ?? '',
          );
          return { tool, output, code };
        });
      }),
    ).then((all) => all.flat());
    const own = await makeAccount(
      stack,
      calls.reduce((sum, { tool }) => sum + tool.price, 0),
    );
    const printed = await runSnippets(
      language,
      calls.map(({ code }) => code),
      own.toolsKey,
    );
    for (const [index, { tool, output }] of calls.entries()) {
      const [status, body] = [printed[index]].flat();
      t.is(status, 200, `${tool.name}: ${JSON.stringify(body)}`);
      assertShown(t, tool, body, output);
    }
  });

test('the call that saves the file gives a file of its type, as the pages show it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'saved-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const { toolsKey } = await makeAccount(stack, 10);
  const page = await pageOf('qr-generate');
  const [, code = ''] = /curl, to a file<\/figcaption>\s*<pre[^>]*><code>(.*?)<\/code>/s.exec(page) ?? [];
  await promisify(execFile)('sh', ['-c', load(code).text()], {
    cwd: folder,
    env: { ...process.env, [KEY_VARIABLE]: toolsKey },
  });
  const { format, width } = await sharp(join(folder, 'qr-generate.png')).metadata();
  t.deepEqual({ format, width }, { format: 'png', width: 300 });
  t.deepEqual(
    tools.filter(({ raw }) => raw !== undefined).map(({ name }) => name),
    await Promise.all(
      tools.map(async ({ name }) => ((await pageOf(name)).includes('curl, to a file') ? name : '')),
    ).then((names) => names.filter((name) => name !== '')),
  );
});

test('calling an unknown tool gives not_found', async (t) => {
  const refused = await refusalOf(await account.call('no-such-tool', {}));
  t.like(refused, { status: 404, code: 'unknown_tool' });
});

test.serial('the events match the reference, and the audit finds no drift', async (t) => {
  const own = await makeAccount(stack, 25);
  for (let left = 25; left > 0; left--) t.is((await own.call('hash-text', { text: `${left}` })).status, 200);
  for (const { accountId } of [own, account]) t.deepEqual(await auditAccountWhenIdle(store, accountId), []);
  const events = await store.events.find().toArray();
  for (const { event, data } of events) t.is(fits(EVENTS[event].data, data), null, event);
  const fired = events.filter(({ accountId }) => accountId === own.accountId).map(({ event }) => event);
  t.deepEqual(fired.sort(), ['api_key.created', 'api_key.created', 'credits.exhausted', 'credits.low']);
});
