import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { UtilityTools, UtilityToolsAccount } from '../../clients/typescript/src/index.ts';
import { clientEnv } from '../../dev/host.mjs';
import { run } from '../../dev/programs/run.ts';
import { makeAccount } from '../helpers/account.ts';
import { ACCOUNT_KEY_VARIABLE, KEY_VARIABLE } from '../helpers/agentClients.ts';
import { findTestPython } from '../helpers/clientPackages.ts';
import { snippetsOf } from '../helpers/guideSnippets.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { go } from '../provision/items/go.ts';

const project = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const LIMITS = { idleMs: 300_000, totalMs: 600_000 };

let stack: SharedStack;
let folder: string;

test.before(async () => {
  stack = await useStack();
  folder = await mkdtemp(join(tmpdir(), 'utility-tools-receipts-'));
});
test.after.always(async () => {
  await stack?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** The program of the guide in a language, for this stack, and the environment in which it runs. */
async function programOf(t: ExecutionContext, language: string) {
  const guide = await (await fetch(`${stack.baseUrl}/docs/receipts.md`)).text();
  const { code } = snippetsOf(guide).find((it) => it.language === language) ?? t.fail('no program');
  const { toolsKey, accountKey } = await makeAccount(stack, 10);
  const env = { ...clientEnv(), [KEY_VARIABLE]: toolsKey, [ACCOUNT_KEY_VARIABLE]: accountKey };
  return { code: code ?? '', env };
}

const SHOWN = 'hash-text 1 true\n';

test('the guide verifies a receipt with the TypeScript client', async (t) => {
  const { code, env } = await programOf(t, 'js');
  const path = join(folder, 'receipt.mjs');
  const client = new URL('../../clients/typescript/src/index.ts', import.meta.url).href;
  await writeFile(path, code.replace("'utility-tools-client'", `'${client}'`));
  t.is(await run(process.execPath, [path], { env, ...LIMITS }), SHOWN);
});

test('the TypeScript client rejects what the service has not signed', async (t) => {
  const { toolsKey, accountKey } = await makeAccount(stack, 10);
  const { baseUrl } = stack;
  const { requestId } = await new UtilityTools({ baseUrl, apiKey: toolsKey }).hashText({ text: 'abc' });
  const account = new UtilityToolsAccount({ baseUrl, apiKey: accountKey });
  const { receipt } = await account.getReceipt(requestId);
  const { credits, ...rest } = await account.verifyReceipt(receipt);
  t.like(rest, { requestId, tool: 'hash-text', iss: baseUrl });
  const [header, , signature] = receipt.split('.');
  const raised = Buffer.from(JSON.stringify({ ...rest, credits: credits + 1 })).toString('base64url');
  for (const forged of [`${header}.${raised}.${signature}`, `${header}.${raised}.`, 'no receipt', ''])
    await t.throwsAsync(account.verifyReceipt(forged), { message: /not genuine/ }, forged);
});

test('the guide verifies a receipt with the Python client', async (t) => {
  t.timeout(900_000);
  const { code, env } = await programOf(t, 'python');
  const path = join(folder, 'receipt.py');
  await writeFile(path, code);
  const python = await findTestPython((line) => t.log(line));
  t.is(
    await run(python, [path], { env: { ...env, PYTHONPATH: project('clients/python/src') }, ...LIMITS }),
    SHOWN,
  );
});

test('the guide verifies a receipt with the Go client', async (t) => {
  t.timeout(900_000);
  const { code, env } = await programOf(t, 'go');
  const program = await go.get((line) => t.log(line));
  const cwd = join(folder, 'program');
  const options = { cwd, env: { ...env, GOPROXY: 'off', GOFLAGS: '-mod=mod' }, ...LIMITS };
  await mkdir(cwd);
  await cp(project('clients/go'), join(folder, 'utilitytools'), { recursive: true });
  await run(program, ['mod', 'init', 'program'], options);
  const local = ['-require', 'utilitytools@v0.0.0', '-replace', 'utilitytools=../utilitytools'];
  await run(program, ['mod', 'edit', ...local], options);
  await writeFile(join(cwd, 'main.go'), code);
  t.is(await run(program, ['run', '.'], options), SHOWN);

  const forged = code.replace('signed.JWS)', 'signed.JWS[:len(signed.JWS)-9] + "AAAAAAAAA")');
  await writeFile(join(cwd, 'main.go'), forged);
  await run(program, ['build', '-o', 'forged', '.'], options);
  await t.throwsAsync(run(join(cwd, 'forged'), [], options), { message: /not genuine/ });
});
