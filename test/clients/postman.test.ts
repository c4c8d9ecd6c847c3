import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { OPERATIONS } from '../../schemas/operations.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { makeAccount } from '../helpers/account.ts';
import { recordAt, recordsAt } from '../helpers/json.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { newman } from '../provision/items/newman.ts';

let stack: SharedStack;
let folder: string;

test.before(async () => {
  stack = await useStack();
  folder = await mkdtemp(join(tmpdir(), 'utility-tools-postman-'));
});
test.after.always(async () => {
  await stack?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Requests of the collection that need no other machine, and the status of their responses. */
const RUN: Readonly<Record<string, number>> = {
  'Hash text (1 credit)': 200,
  'QR code (1 credit)': 200,
  'List jobs': 200,
  'Get balance and settings': 200,
  'List calls': 200,
  'List API keys, including revoked ones': 200,
};

test('Postman’s own program runs the collection', async (t) => {
  t.timeout(900_000);
  const packages = await newman.get((line) => t.log(line));
  const { toolsKey, accountKey } = await makeAccount(stack, 10);
  const collection: unknown = await (await fetch(`${stack.baseUrl}/postman.json`)).json();
  const items = recordsAt(recordAt(collection).item).flatMap(({ item }) => recordsAt(item));
  t.is(items.length, (await loadRegistry()).size + OPERATIONS.length);
  const [file, report] = [join(folder, 'collection.json'), join(folder, 'report.json')];
  await writeFile(file, JSON.stringify(collection));
  const variables = { apiKey: toolsKey, accountKey };
  await promisify(execFile)(
    process.execPath,
    [
      join(packages, 'node_modules/newman/bin/newman.js'),
      ...['run', file, '--reporters', 'json', '--reporter-json-export', report],
      ...Object.entries(variables).flatMap(([name, value]) => ['--env-var', `${name}=${value}`]),
      ...Object.keys(RUN).flatMap((name) => ['--folder', name]),
    ],
    { cwd: folder, env: { ...machineEnv(), HOME: folder }, timeout: 120_000 },
  );
  const executions = recordsAt(recordAt(JSON.parse(await readFile(report, 'utf8')), 'run').executions);
  t.deepEqual(
    Object.fromEntries(
      executions.map((execution) => [recordAt(execution, 'item').name, recordAt(execution, 'response').code]),
    ),
    RUN,
  );
});
