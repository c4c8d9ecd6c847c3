import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import sharp from 'sharp';
import { clientEnv, machineEnv } from '../../dev/host.mjs';
import { run } from '../../dev/programs/run.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { listen } from '../helpers/egress.ts';
import { type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { worldOf } from '../helpers/world.ts';
import { n8n } from '../provision/items/n8n.ts';

const project = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
const NAME = 'n8n-nodes-utility-tools';
const LIMIT_MS = 240_000;

const owned = new AsyncDisposableStack();
let stack: SharedStack;
let account: TestAccount;
/** The folder of n8n's packages, and that of the built package of the node. */
let [packages, node] = ['', ''];

test.before(async (t) => {
  t.timeout(900_000);
  stack = await useStack('full');
  owned.defer(() => stack.stop());
  account = await makeAccount(stack, 200);
  packages = await n8n.get((line) => t.log(line));
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-n8n-'));
  owned.defer(() => rm(folder, { recursive: true, force: true }));
  const modules = join(folder, 'node_modules');
  node = join(modules, NAME);
  await mkdir(join(modules, '@types'), { recursive: true });
  await cp(project('clients/n8n'), node, { recursive: true });
  // As in n8n, the package finds n8n-workflow beside itself.
  await symlink(join(packages, 'node_modules/n8n-workflow'), join(modules, 'n8n-workflow'));
  await symlink(project('node_modules/@types/node'), join(modules, '@types/node'));
  const env = { ...clientEnv(), PATH: `${project('node_modules/.bin')}:${process.env.PATH}` };
  await run('npm', ['run', 'build'], { cwd: node, env, idleMs: LIMIT_MS, totalMs: LIMIT_MS });
});
test.after.always(() => owned.disposeAsync());

interface Result {
  /** For each output of the last node its items. */
  outputs: Json[][];
  error: Json;
}

/** Runs workflows with n8n's engine, each a chain of nodes that starts with these items. */
async function execute(
  runs: readonly { nodes: readonly Json[]; items?: readonly Json[]; baseUrl?: string; apiKey?: string }[],
): Promise<{ results: Result[]; description: Json }> {
  const home = await mkdtemp(join(tmpdir(), 'utility-tools-n8n-home-'));
  try {
    const env = { ...machineEnv(), HOME: home, N8N_USER_FOLDER: home, N8N_LOG_LEVEL: 'silent' };
    const args = [project('test/clients/n8nEngine.mjs'), packages, node];
    const child = spawn(process.execPath, args, { env, timeout: LIMIT_MS, stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.end(
      JSON.stringify(
        runs.map(({ nodes, items = [{}], baseUrl = stack.baseUrl, apiKey = account.toolsKey }, index) => ({
          executionId: String(index),
          credentials: { baseUrl, apiKey },
          items: items.map(({ binary, ...json }) => ({ json, ...(binary !== undefined && { binary }) })),
          nodes,
        })),
      ),
    );
    const [written, complaints] = await Promise.all([text(child.stdout), text(child.stderr)]);
    if (written === '') throw new Error(complaints);
    const { results, description } = recordAt(JSON.parse(written));
    return {
      description: recordAt(description),
      results: recordsAt(results).map(({ outputs, error }) => ({
        outputs: Array.isArray(outputs) ? outputs.map(recordsAt) : [],
        error: recordAt(error),
      })),
    };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

const ONE: Result = { outputs: [], error: {} };
const nodeOf = (resource: string, operation: string, parameters: Json, more: Json = {}): Json => ({
  type: `${NAME}.utilityTools`,
  parameters: { resource, operation, ...parameters },
  ...more,
});
const hashNode = (more: Json = {}, options: Json = {}): Json =>
  nodeOf('hashesAndPasswords', 'hash-text', { text: '={{ $json.text }}', additionalOptions: options }, more);
const jsonOf = (items: readonly Json[] = []): Json[] => items.map((item) => recordAt(item, 'json'));

/** Starts a proxy that loses the responses of these requests, by their numbers, after the service has answered them. */
async function startLosingProxy(t: ExecutionContext, lost: readonly number[]) {
  const requests: { key: string; replayed: boolean }[] = [];
  const server = createServer(async (incoming, response) => {
    const { method = 'GET', url = '', headers } = incoming;
    const body = new Uint8Array(await buffer(incoming));
    const sent = new Headers();
    for (const name of ['authorization', 'content-type', 'idempotency-key', 'accept']) {
      const value = headers[name];
      if (typeof value === 'string') sent.set(name, value);
    }
    const answer = await fetch(`${stack.baseUrl}${url}`, { method, headers: sent, body });
    requests.push({
      key: String(headers['idempotency-key']),
      replayed: answer.headers.get('idempotent-replayed') === 'true',
    });
    if (lost.includes(requests.length)) return response.writeHead(502).end('<h1>502 Bad Gateway</h1>');
    const type = answer.headers.get('content-type') ?? '';
    response.writeHead(answer.status, { 'Content-Type': type }).end(Buffer.from(await answer.arrayBuffer()));
  });
  const port = await listen(server);
  t.teardown(() => server[Symbol.asyncDispose]());
  return { baseUrl: `http://127.0.0.1:${port}`, requests };
}

test('n8n loads the package: each tool is an operation, with a property for each field', async (t) => {
  t.timeout(LIMIT_MS);
  const { description } = await execute([]);
  t.like(description, { displayName: 'Utility Tools', usableAsTool: true });
  t.deepEqual(recordAt(description, 'codex').categories, ['Development', 'Utility']);
  t.like(recordAt(description, 'iconUrl'), { light: `icons/${NAME}/dist/icons/utilityTools.svg` });
  const properties = recordsAt(description.properties);
  const operations = properties
    .filter(({ name }) => name === 'operation')
    .flatMap(({ options }) => recordsAt(options).map(({ value }) => value));
  const registry = await loadRegistry();
  t.deepEqual(operations.toSorted(), [...registry.keys()].sort());
  for (const [name, tool] of registry) {
    const own = properties.filter((it) => {
      const { operation } = recordAt(it, 'displayOptions', 'show');
      return Array.isArray(operation) && operation.includes(name);
    });
    const shown = [...own, ...own.flatMap(({ options }) => recordsAt(options))].map((it) => it.name);
    t.deepEqual(
      Object.keys(tool.input.properties).filter((field) => !shown.includes(field)),
      [],
      name,
    );
  }
});

test('calls run for each item, with expressions, options of all kinds, and files in and out', async (t) => {
  t.timeout(LIMIT_MS);
  const page = worldOf(stack.env).localise('browser', { url: 'https://example.com/' });
  const { results } = await execute([
    { items: [{ text: 'abc' }, { text: '' }], nodes: [hashNode()] },
    {
      nodes: [
        nodeOf('imagesAndDocuments', 'qr-generate', {
          text: 'https://example.com/',
          additionalOptions: { size: 100, outputBinaryPropertyName: 'code' },
        }),
        nodeOf('imagesAndDocuments', 'watermark-image', {
          binaryPropertyName: 'code',
          text: 'Draft – Entwurf',
          additionalOptions: { opacity: 0.5, position: 'center' },
        }),
      ],
    },
    {
      nodes: [
        nodeOf('webPages', 'website-screenshot', {
          ...page,
          additionalOptions: {
            width: 200,
            height: 100,
            waitFor: '10',
            headers: '{"X-Test": "1"}',
            also: ['text'],
            selector: '',
          },
        }),
      ],
    },
    {
      nodes: [
        nodeOf('imagesAndDocuments', 'qr-generate', { text: 'a', additionalOptions: { output: 'link' } }),
      ],
    },
    { nodes: [{ type: 'check' }] },
  ]);
  const [hashes = ONE, drawn = ONE, screenshot = ONE, link = ONE, check = ONE] = results;
  t.deepEqual(
    results.map(({ error }) => error),
    results.map(() => ({})),
  );
  t.deepEqual(
    jsonOf(hashes.outputs[0]).map(({ hash }) => hash),
    [ABC, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  );
  t.deepEqual(hashes.outputs[0]?.[1]?.pairedItem, { item: 1 });

  const draft = recordAt(drawn.outputs[0]?.[0], 'binary', 'data');
  t.like(draft, { fileName: 'qr-generate.png', mimeType: 'image/png', fileExtension: 'png' });
  const picture = await sharp(Buffer.from(String(draft.data), 'base64')).metadata();
  t.like(picture, { format: 'png', width: 100, height: 100 });
  t.false('fileBase64' in recordAt(drawn.outputs[0]?.[0], 'json'));

  const shot = recordAt(screenshot.outputs[0]?.[0]);
  t.like(recordAt(shot, 'json'), { statusCode: 200, width: 200, height: 100 });
  t.regex(String(recordAt(shot, 'json').text), /\w/);
  const taken = Buffer.from(String(recordAt(shot, 'binary', 'data').data), 'base64');
  t.like(await sharp(taken).metadata(), { format: 'png', width: 200, height: 100 });

  t.regex(String(jsonOf(link.outputs[0])[0]?.fileUrl), /^http/);
  t.false('binary' in recordAt(link.outputs[0]?.[0]));
  t.is(check.outputs[0]?.length, 1);
});

test('an error has the code and the faults, and goes to the error output if the node continues', async (t) => {
  t.timeout(LIMIT_MS);
  const items = [{ text: 'abc' }, { text: 'x'.repeat(1_000_001) }];
  const { results } = await execute([
    { items, nodes: [hashNode()] },
    { items, nodes: [hashNode({ onError: 'continueErrorOutput' })] },
    { items: [{ text: 'abc' }], nodes: [hashNode()], apiKey: `ut_${'0'.repeat(36)}` },
    { nodes: [{ type: 'check' }], apiKey: `ut_${'0'.repeat(36)}` },
    { items: [{ text: 'abc' }], nodes: [hashNode()], baseUrl: 'http://127.0.0.1:9' },
    { nodes: [nodeOf('network', 'http-request', { url: 'http://a/', additionalOptions: { headers: '{' } })] },
  ]);
  const [failed = ONE, divided = ONE, refused = ONE, check = ONE, away = ONE, invalid = ONE] = results;
  t.like(failed.error, { kind: 'NodeApiError', httpCode: '422', message: 'Invalid input' });
  t.regex(String(failed.error.description), /\/text .*\nCode invalid_input, request req_/s);
  t.is(recordAt(failed.error, 'context').itemIndex, 1);

  const [done, errors] = divided.outputs;
  t.deepEqual(
    jsonOf(done).map(({ hash }) => hash),
    [ABC],
  );
  t.is(errors?.length, 1);
  t.like(jsonOf(errors)[0], { error: 'Invalid input' });
  t.like(recordAt(jsonOf(errors)[0], 'details'), { code: 'invalid_input', status: 422 });

  t.like(refused.error, { httpCode: '401' });
  t.regex(String(refused.error.description), /Code invalid_api_key/);
  t.is(check.error.httpCode, '401');
  t.is(away.error.kind, 'NodeApiError');
  t.is(recordAt(away.error, 'context').itemIndex, 0);
  t.is(invalid.error.message, 'The option headers is not valid JSON');
});

test('when n8n retries a node whose result was lost, each item is one call, which is charged once', async (t) => {
  t.timeout(LIMIT_MS);
  const payer = await makeAccount(stack, 10);
  const { baseUrl, requests } = await startLosingProxy(t, [2]);
  const { results } = await execute([
    {
      items: [{ text: 'abc' }, { text: 'abc' }],
      nodes: [hashNode({ retryOnFail: true, maxTries: 3, waitBetweenTries: 1 })],
      baseUrl,
      apiKey: payer.toolsKey,
    },
  ]);
  t.deepEqual(
    jsonOf(results[0]?.outputs[0]).map(({ hash }) => hash),
    [ABC, ABC],
  );
  const keys = requests.map(({ key }) => key);
  t.deepEqual(
    requests.map(({ replayed }) => replayed),
    [false, false, true, true],
  );
  t.is(new Set(keys).size, 2);
  t.is(recordAt(await (await payer.manage('/api/v1/account')).json()).available, 8);
});

test('the package meets the rules of n8n for community nodes', async (t) => {
  const manifest = recordAt(JSON.parse(await readFile(project('clients/n8n/package.json'), 'utf8')));
  t.like(manifest, { name: NAME, license: 'MIT', keywords: ['n8n-community-node-package'] });
  t.deepEqual(manifest.peerDependencies, { 'n8n-workflow': '*' });
  t.false('dependencies' in manifest);
  const readme = await readFile(project('clients/n8n/README.md'), 'utf8');
  for (const [name] of await loadRegistry()) t.true(readme.includes(`\`${name}\``), name);
});
