import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openApiDocument } from '../../api/openapi/openapi.ts';
import { machineEnv } from '../../dev/host.mjs';
import { OPERATIONS } from '../../schemas/operations.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { recordAt, recordsAt } from '../helpers/json.ts';
import { linters } from '../provision/items/linters.ts';

const LIMIT_MS = 240_000;

interface Exception {
  /** Why the rule does not apply. */
  reason: string;
  rule: string;
  /** Matches the JSON Pointer of each place to which the exception applies. */
  places: RegExp;
}

/** The rules of both linters that the document breaks on purpose. All other findings fail the test. */
const EXCEPTIONS: readonly Exception[] = [
  {
    reason: 'a GET request without parameters and without a key has nothing that could be invalid',
    rule: 'operation-4xx-response',
    places: /^#\/paths\/[\w~.-]+\/get\/responses$/,
  },
  {
    reason:
      'the address for support depends on the installation, and the contact has the URL of its documentation',
    rule: 'contact-properties',
    places: /^\/info\/contact$/,
  },
  {
    reason: 'OpenAPI 3.1 permits either the identifier of a licence or its URL',
    rule: 'license-url',
    places: /^\/info\/license$/,
  },
  {
    reason: 'the tags are in the order in which a reader needs them',
    rule: 'openapi-tags-alphabetical',
    places: /^\/tags$/,
  },
];

let folder: string;
let document: string;

test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'utility-tools-linters-'));
  document = join(folder, 'openapi.json');
  const spec = openApiDocument({
    registry: await loadRegistry(),
    operations: OPERATIONS,
    serverUrl: 'https://api.example.org',
  });
  await writeFile(document, JSON.stringify(spec));
});
test.after.always(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Runs a linter, whose exit code tells that it has findings. Returns what it wrote to stdout. */
async function lint(t: ExecutionContext, program: string, args: string[]): Promise<unknown> {
  const packages = await linters.get((line) => t.log(line));
  const { stdout, stderr } = await new Promise<{ stdout: string; stderr: string }>((resolve) =>
    execFile(
      process.execPath,
      [join(packages, 'node_modules/.bin', program), 'lint', document, ...args],
      {
        cwd: folder,
        env: { ...machineEnv(), HOME: folder, REDOCLY_TELEMETRY: 'off' },
        timeout: LIMIT_MS,
        killSignal: 'SIGKILL',
        maxBuffer: 2 ** 26,
      },
      (_error, out, err) => resolve({ stdout: out, stderr: err }),
    ),
  );
  try {
    return JSON.parse(stdout);
  } catch (cause) {
    throw new Error(`${program} printed no JSON:\n${stdout.slice(0, 2000)}\n${stderr.slice(0, 2000)}`, {
      cause,
    });
  }
}

/** Returns the findings without an exception. */
function unexplained(
  t: ExecutionContext,
  findings: readonly { rule: string; place: string; message: string }[],
) {
  const left = findings.filter(
    ({ rule, place }) => !EXCEPTIONS.some((it) => it.rule === rule && it.places.test(place)),
  );
  t.log(`${findings.length - left.length} findings have an exception`);
  return left.map(({ rule, place, message }) => `${rule} ${place}: ${message}`);
}

test.serial('Redocly finds no error and no warning in the OpenAPI document', async (t) => {
  t.timeout(900_000);
  const config = join(folder, 'redocly.yaml');
  await writeFile(config, 'extends:\n  - recommended\n');
  const output = await lint(t, 'redocly', [
    '--config',
    config,
    '--format',
    'json',
    '--max-problems',
    '10000',
  ]);
  const findings = recordsAt(recordAt(output).problems).map(({ ruleId, message, location }) => ({
    rule: String(ruleId),
    place: String(recordsAt(location)[0]?.pointer),
    message: String(message),
  }));
  t.deepEqual(unexplained(t, findings), []);
});

test.serial('Spectral finds no error and no warning in the OpenAPI document', async (t) => {
  t.timeout(900_000);
  const ruleset = join(folder, 'ruleset.json');
  await writeFile(ruleset, JSON.stringify({ extends: [['spectral:oas', 'all']] }));
  const output = await lint(t, 'spectral', ['--ruleset', ruleset, '--format', 'json', '--quiet']);
  if (!Array.isArray(output)) throw new Error('Spectral printed no list');
  const findings = recordsAt(output).map(({ code, message, path }) => ({
    rule: String(code),
    place: `/${Array.isArray(path) ? path.map((part) => String(part).replaceAll('/', '~1')).join('/') : ''}`,
    message: String(message),
  }));
  t.deepEqual(unexplained(t, findings), []);
});
