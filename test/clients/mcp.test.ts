import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { freePort } from '../../dev/ports.ts';
import { ACCOUNT_TOOLS } from '../../schemas/accountTools.ts';
import { runBatch } from '../../schemas/batchTool.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { newOwner } from '../helpers/dashboard.ts';
import { type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { startKeyProxy } from '../helpers/keyProxy.ts';
import { ERAS, type Era } from '../helpers/mcp.ts';
import { approve, connected } from '../helpers/oauth.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget, type SharedStack } from '../helpers/stack.ts';
import { mcpConformance, mcpInspector, tokenizer } from '../provision/items/mcp.ts';

const LIMIT_MS = 120_000;

interface Exception {
  reason: string;
  /** Matches the message of each check that does not pass. */
  message: RegExp;
  scenarios: readonly string[];
}

/**
 * The scenarios of which a part does not apply, with the reason. All checks of all other scenarios must pass. The suite
 * is written for a reference server with tools, prompts and resources of its own.
 */
const EXCEPTIONS: readonly Exception[] = [
  {
    reason: 'calls a tool of the reference server, which this server does not have',
    message:
      /Unknown tool: test_|the diagnostic tool 'test_\w+'|Tool 'json_schema_2020_12_tool' not found|could not get initial InputRequiredResult|Expected InputRequiredResult|SEP-2322 recommends/,
    scenarios: [
      'server-stateless',
      'json-schema-2020-12',
      'tools-call-simple-text',
      'tools-call-image',
      'tools-call-audio',
      'tools-call-embedded-resource',
      'tools-call-mixed-content',
      'tools-call-error',
      'tools-call-with-progress',
      'tools-call-sampling',
      'tools-call-elicitation',
      'elicitation-sep1034-defaults',
      'elicitation-sep1330-enums',
      'input-required-result-basic-elicitation',
      'input-required-result-basic-sampling',
      'input-required-result-basic-list-roots',
      'input-required-result-request-state',
      'input-required-result-multiple-input-requests',
      'input-required-result-multi-round',
      'input-required-result-missing-input-response',
      'input-required-result-result-type',
      'input-required-result-tampered-state',
      'input-required-result-capability-check',
      'input-required-result-ignore-extra-params',
    ],
  },
  {
    reason: 'reads a prompt or a resource of the reference server; this server has none',
    message: /Unknown prompt: test_|Resource not found/,
    scenarios: [
      'prompts-get-simple',
      'prompts-get-with-args',
      'prompts-get-embedded-resource',
      'prompts-get-with-image',
      'input-required-result-non-tool-request',
      'resources-read-text',
      'resources-read-binary',
      'resources-templates-read',
    ],
  },
  {
    reason: 'completion, logging and subscriptions are optional, and this server does not declare them',
    message: /Method not found|-32601/,
    scenarios: [
      'completion-complete',
      'logging-set-level',
      'tools-call-with-logging',
      'resources-subscribe',
      'resources-unsubscribe',
    ],
  },
  {
    reason: 'sessions and resumable streams are optional, and each request to this server stands alone',
    message: /^Server did not (?:provide session ID|send priming event|send retry field)/,
    scenarios: ['server-sse-multiple-streams', 'server-sse-polling', 'server-session-lifecycle'],
  },
  {
    reason: 'no tool has a parameter that a client copies into a header',
    message: /no tool with x-mcp-header annotations/,
    scenarios: ['http-custom-header-server-validation'],
  },
  {
    reason:
      'calls a tool that asks for input, or whose call ends with an error of the protocol; this server has no such tool',
    message: /Unknown tool: (?:confirm_delete|multi_input|protocol_error_job|test_tool_with_task)/,
    scenarios: [
      'tasks-lifecycle',
      'tasks-dispatch-and-envelope',
      'tasks-mrtr-input',
      'tasks-mrtr-composition',
    ],
  },
  {
    reason: 'looks for the greeting of the reference server in a result',
    message: /tool result content MUST be unaffected by the Mcp-Method header/,
    scenarios: ['tasks-request-headers'],
  },
  {
    reason: 'notifications about tasks are optional, and this server sends none',
    message: /notification/i,
    scenarios: ['tasks-status-notifications'],
  },
];

/** Scenarios of each revision whose checks all pass. */
const PASSED: Readonly<Record<string, readonly string[]>> = {
  '2025-11-25': [
    'dns-rebinding-protection',
    'ping',
    'prompts-list',
    'resources-list',
    'server-initialize',
    'tools-list',
  ],
  '2026-07-28': [
    'caching',
    'dns-rebinding-protection',
    'http-header-validation',
    'input-required-result-unsupported-methods',
    'input-required-result-validate-input',
    'prompts-list',
    'resources-list',
    'sep-2164-resource-not-found',
    'server-sse-multiple-streams',
    'tasks-capability-negotiation',
    'tasks-request-state-removal',
    'tasks-required-task-error',
    'tasks-wire-fields',
    'tools-list',
  ],
};

/** Numbers of checks that pass at least in scenarios of which a part does not apply, for the revision of 2026-07-28. */
const PASSED_IN_PART = {
  'server-stateless': 24,
  'tasks-lifecycle': 7,
  'tasks-dispatch-and-envelope': 4,
  'tasks-request-headers': 2,
} as const;

let stack: SharedStack;
let account: TestAccount;
let folder: string;
/** A server that answers after the seconds in the query of the URL. */
let slow: string;
const waits = createServer(({ url = '/' }, response) => {
  const seconds = Number(new URL(url, 'http://target').searchParams.get('seconds'));
  const timer = setTimeout(() => response.end('Done.'), seconds * 1000);
  response.once('close', () => clearTimeout(timer));
});

/** A call of a tool of this server. */
interface StandIn {
  name: string;
  arguments: Json;
  /** Whether it becomes a task: never, if the client handles tasks, or always. */
  asTask: 'never' | 'possible' | 'always';
}

/** What this server does in place of the tools of the reference server which the scenarios about tasks call. */
const STAND_INS: Readonly<Record<string, (args: Json) => StandIn>> = {
  greet: () => ({ name: 'hash-text', arguments: { text: 'abc' }, asTask: 'never' }),
  slow_compute: ({ seconds }) => ({
    name: 'http-request',
    arguments: { url: `http://${slow}/?seconds=${Number(seconds)}` },
    asTask: 'possible',
  }),
  failing_job: () => ({ name: 'ping', arguments: { host: '10.0.0.1' }, asTask: 'always' }),
};

/** Replaces calls of the reference server's tools. */
const standIn: Parameters<typeof startKeyProxy>[2] = ({ headers, body }) => {
  const message = body === '' ? {} : recordAt(JSON.parse(body));
  const params = recordAt(message.params ?? {});
  const tool = message.method === 'tools/call' ? STAND_INS[String(params.name)] : undefined;
  if (tool === undefined) return { headers, body };
  const { asTask, ...call } = tool(recordAt(params.arguments ?? {}));
  const meta = recordAt(params._meta ?? {});
  const handlesTasks = JSON.stringify(meta).includes('io.modelcontextprotocol/tasks');
  const respondAsync = asTask === 'always' || (asTask === 'possible' && handlesTasks);
  const _meta = { ...meta, ...(respondAsync && { respondAsync }) };
  return {
    headers: { ...headers, ...('mcp-name' in headers && { 'mcp-name': call.name }) },
    body: JSON.stringify({ ...message, params: { ...params, ...call, _meta } }),
  };
};

test.before(async () => {
  stack = await useStack();
  slow = await listenAsTarget(waits);
  account = await makeAccount(stack, 1000);
  folder = await mkdtemp(join(tmpdir(), 'utility-tools-mcp-'));
});
test.after.always(async () => {
  waits.close();
  waits.closeAllConnections();
  await stack?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a program of an npm package with this Node.js and a home folder of its own. */
const runProgram = (program: string, args: string[]): Promise<Ran> =>
  promisify(execFile)(process.execPath, [program, ...args], {
    cwd: folder,
    env: { ...machineEnv(), HOME: folder },
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );

/** Reads the checks of each scenario. The suite names folders `server-<scenario>-<time>` or `authorization-server-…`. */
async function readResults(results: string): Promise<Map<string, Json[]>> {
  const read = async (name: string): Promise<[string, Json[]]> => [
    name.replace(/^(?:authorization-)?server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, ''),
    recordsAt(JSON.parse(await readFile(join(results, name, 'checks.json'), 'utf8'))),
  ];
  return new Map(await Promise.all((await readdir(results)).map(read)));
}

const messageOf = (check: Json): string =>
  String(check.errorMessage ?? recordAt(check, 'details').message ?? check.description);

for (const revision of Object.keys(PASSED))
  test.serial(
    `revision ${revision}: every scenario of the conformance suite that applies passes`,
    async (t) => {
      t.timeout(900_000);
      const packages = await mcpConformance.get((line) => t.log(line));
      const proxy = await startKeyProxy(stack.baseUrl, account.toolsKey, standIn);
      t.teardown(() => proxy.close());
      const output = join(folder, revision);
      const options = ['--url', `${proxy.url}/mcp`, '--requirements', revision, '--output-dir', output];
      const { stderr } = await runProgram(join(packages, 'node_modules/.bin/conformance'), [
        'server',
        ...options,
      ]);
      const results = await readResults(output);
      t.true(results.size > 30, stderr);
      const unexplained: string[] = [];
      const passed: string[] = [];
      for (const [scenario, checks] of results) {
        const findings = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
        const exceptions = EXCEPTIONS.filter(({ scenarios }) => scenarios.includes(scenario));
        for (const finding of findings)
          if (!exceptions.some(({ message }) => message.test(messageOf(finding))))
            unexplained.push(`${scenario}: ${finding.id}: ${messageOf(finding)}`);
        const isPassed = checks.some(({ status, id }) => status === 'SUCCESS' && id !== 'wire-schema-valid');
        if (findings.length === 0 && isPassed) passed.push(scenario);
        else if (exceptions.length === 0) unexplained.push(`${scenario}: no check passed`);
      }
      t.deepEqual(unexplained, []);
      t.deepEqual(passed.sort(), PASSED[revision]);
      if (revision !== '2026-07-28') return;
      for (const [scenario, least] of Object.entries(PASSED_IN_PART)) {
        const checks = results.get(scenario) ?? [];
        const successes = checks.filter(({ status }) => status === 'SUCCESS').length;
        t.true(successes >= least, `${scenario}: ${successes}`);
      }
    },
  );

const COUNT = `
  const [, , tokenizer, encoding, file] = process.argv;
  const text = require('node:fs').readFileSync(file, 'utf8');
  console.log(require(tokenizer).getEncoding(encoding).encode(text).length);
`;

test.serial('the list of all tools has at most 6,000 tokens', async (t) => {
  t.timeout(900_000);
  const packages = await tokenizer.get((line) => t.log(line));
  const owner = await newOwner(stack);
  const app = await connected(stack.baseUrl, owner, 'App', [
    ['scopes', 'tools'],
    ['scopes', 'account'],
  ]);
  await using connection = await app.connect();
  const { tools } = await connection.client.listTools();
  t.is(tools.length, (await loadRegistry()).size + ACCOUNT_TOOLS.length);
  const file = join(folder, 'tools.json');
  await writeFile(file, JSON.stringify({ tools }));
  for (const encoding of ['cl100k_base', 'o200k_base']) {
    const program = join(folder, 'count.cjs');
    await writeFile(program, COUNT);
    const { stdout, stderr } = await runProgram(program, [
      join(packages, 'node_modules/js-tiktoken'),
      encoding,
      file,
    ]);
    t.true(Number(stdout) > 0 && Number(stdout) <= 6000, `${encoding}: ${stdout}${stderr}`);
  }
});

test.serial('the scenarios of the conformance suite for authorization servers pass', async (t) => {
  t.timeout(900_000);
  const packages = await mcpConformance.get((line) => t.log(line));
  const owner = await newOwner(stack);
  const port = await freePort();
  const registered = await fetch(`${stack.baseUrl}/api/auth/oauth2/register`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ client_name: 'Suite', redirect_uris: [`http://127.0.0.1:${port}/callback`] }),
  });
  const output = join(folder, 'authorization');
  const options = {
    '--url': `${stack.baseUrl}/api/auth`,
    '--client-id': String(recordAt(await registered.json()).client_id),
    '--resource': `${stack.baseUrl}/mcp`,
    '--port': String(port),
    '--output-dir': output,
  };
  const suite = spawn(
    process.execPath,
    [join(packages, 'node_modules/.bin/conformance'), 'authorization', ...Object.entries(options).flat()],
    {
      cwd: folder,
      env: { ...machineEnv(), HOME: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: LIMIT_MS,
    },
  );
  t.teardown(() => suite.kill('SIGKILL'));
  const ended = once(suite, 'exit');
  for await (const line of createInterface({ input: suite.stdout }))
    if (line.startsWith(`${stack.baseUrl}/`)) await fetch(await approve(owner, line));
  t.deepEqual(await ended, [0, null]);
  const results = await readResults(output);
  t.deepEqual([...results].map(([name, checks]) => [name, checks.map(({ status }) => status)]).sort(), [
    ['authorization-code-grant', ['SUCCESS']],
    ['authorization-server-metadata-endpoint', ['SUCCESS', 'SUCCESS']],
  ]);
});

for (const era of ERAS)
  test.serial(`${era} Inspector: lists tools, calls them and shows refusals`, async (t) => {
    t.timeout(900_000);
    const packages = await mcpInspector.get((line) => t.log(line));
    const inspect = (args: string[], key = account.toolsKey) => inspectServer(packages, era, key, args);
    const { result, ...listed } = await inspect(['--method', 'tools/list', '--strict']);
    t.is(listed.code, 0, listed.stderr);
    t.deepEqual(
      recordsAt(result.tools)
        .map(({ name }) => name)
        .sort(),
      // The Inspector handles tasks over the modern revision, so it is offered the tool of batches there.
      [...(await loadRegistry()).keys(), ...(era === 'modern' ? [runBatch.name] : [])].sort(),
    );

    const call = (...args: string[]) => inspect(['--method', 'tools/call', '--tool-name', ...args]);
    const hashed = await call(
      'hash-text',
      '--tool-arg',
      'text=abc',
      '--tool-metadata',
      `idempotencyKey=${era}`,
    );
    const hash = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    t.deepEqual(hashed.result.structuredContent, { algorithm: 'sha256', hash });
    t.like(hashed.result._meta, { cost: 1, charged: 1 });
    const repeated = await call(
      'hash-text',
      '--tool-arg',
      'text=abc',
      '--tool-metadata',
      `idempotencyKey=${era}`,
    );
    t.like(repeated.result._meta, { charged: 0, replayed: true });
    const [image] = recordsAt((await call('qr-generate', '--tool-arg', 'text=abc')).result.content);
    t.like(image, { type: 'image', mimeType: 'image/png' });
    t.true(String(image?.data).startsWith('iVBORw0KGgo'));

    const refused = await call('hash-text', '--tool-args-json', '{"text":"abc","algorithm":"crc32"}');
    t.not(refused.code, 0);
    t.like(refused.result, { isError: true, structuredContent: { code: 'invalid_input', retryable: false } });
    const unknown = await call('no-such-tool');
    t.not(unknown.code, 0);
    t.regex(unknown.stderr, /no-such-tool/);
    const denied = await inspect(['--method', 'tools/list', '--stored-auth-only'], 'wrong');
    t.not(denied.code, 0);
    t.regex(denied.stderr, /auth_required/);
  });

/** Runs the Inspector's command line. Returns its exit code, its result, and what it wrote to stderr. */
async function inspectServer(
  packages: string,
  era: Era,
  key: string,
  args: string[],
): Promise<{ code: number; result: Json; stderr: string }> {
  const program = join(packages, 'node_modules/.bin/mcp-inspector');
  const { code, stdout, stderr } = await runProgram(program, [
    '--cli',
    `${stack.baseUrl}/mcp`,
    ...['--header', `Authorization: Bearer ${key}`, '--protocol-era', era, '--format', 'json'],
    ...args,
  ]);
  return { code, stderr, result: stdout === '' ? {} : recordAt(JSON.parse(stdout), 'result') };
}
