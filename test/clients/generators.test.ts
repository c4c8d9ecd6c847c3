import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { clientEnv } from '../../dev/host.mjs';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { pathWithGo } from '../provision/goProgram.ts';
import {
  goModules,
  javaLibraries,
  oapiCodegen,
  openapiGenerator,
  pythonGenerator,
  typescriptGenerators,
} from '../provision/items/generators.ts';

const LIMIT_MS = 300_000;
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';

const runFile = promisify(execFile);
const program = (name: string): string => fileURLToPath(new URL(`./generated/${name}`, import.meta.url));

let stack: SharedStack;
let account: TestAccount;
let folder: string;
let document: string;
/** Environment of the programs and of the compilers. */
let env: NodeJS.ProcessEnv;

test.before(async (t) => {
  t.timeout(900_000);
  folder = await mkdtemp(join(tmpdir(), 'utility-tools-generators-'));
  stack = await useStack();
  account = await makeAccount(stack, 1000);
  document = join(folder, 'openapi.json');
  await writeFile(document, await (await fetch(`${stack.baseUrl}/openapi.json`)).text());
  const { baseUrl: BASE_URL } = stack;
  // oapi-codegen runs `go` to format what it generates.
  const PATH = await pathWithGo(process.env.PATH, (line) => t.log(line));
  const modules = await goModules.get((line) => t.log(line));
  const go = { PATH, GOMODCACHE: join(modules, 'modules'), GOPROXY: 'off' };
  env = { ...clientEnv(), ...go, BASE_URL, TOOLS_KEY: account.toolsKey, ACCOUNT_KEY: account.accountKey };
});
test.after.always(async () => {
  await stack?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

/** Runs a program to its end in a folder. @throws with all of its output if it fails */
async function run(cwd: string, file: string, ...args: string[]): Promise<string> {
  try {
    const options = { cwd, env, timeout: LIMIT_MS, killSignal: 'SIGKILL', maxBuffer: 2 ** 26 } as const;
    return (await runFile(file, args, options)).stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = Object(error);
    const command = `${file} ${args.join(' ')}`.slice(0, 500);
    throw new Error(`${command} failed:\n${stdout}\n${stderr}`.slice(0, 10_000), { cause: error });
  }
}

async function makeFolder(name: string): Promise<string> {
  const made = join(folder, name);
  await mkdir(made);
  return made;
}

/**
 * Checks what a program printed after its five calls: hash-text, qr-generate, the account, hash-text with an
 * Idempotency-Key, and another text with that key, which is refused with 422.
 */
function checkCalls(t: ExecutionContext, output: string): void {
  t.deepEqual(JSON.parse(output), {
    hash: ABC,
    image: '89504e47',
    account: account.accountId,
    withKey: ABC,
    code: 'idempotency_key_mismatch',
  });
}

const npmPackages = (t: ExecutionContext): Promise<string> => typescriptGenerators.get((line) => t.log(line));

/** Compiles `main.mts` and the generated client with strict settings, and runs it. */
async function runTypescript(
  t: ExecutionContext,
  at: string,
  name: string,
  settings: Record<string, unknown>,
): Promise<void> {
  const packages = await npmPackages(t);
  await symlink(join(packages, 'node_modules'), join(at, 'node_modules'));
  await copyFile(program(name), join(at, 'main.mts'));
  await writeFile(join(at, 'package.json'), '{ "type": "module" }');
  const compilerOptions = {
    module: 'ESNext',
    moduleResolution: 'bundler',
    target: 'ES2022',
    lib: ['ES2023', 'DOM', 'DOM.Iterable'],
    types: ['node'],
    typeRoots: [fileURLToPath(new URL('../../node_modules/@types', import.meta.url))],
    strict: true,
    noUncheckedIndexedAccess: true,
    rootDir: '.',
    outDir: 'out',
    ...settings,
  };
  await writeFile(join(at, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.mts'] }));
  await run(at, process.execPath, join(packages, 'node_modules/typescript/bin/tsc'), '-p', '.');
  checkCalls(t, await run(at, process.execPath, 'out/main.mjs'));
}

/** Runs OpenAPI Generator, whose jar is in a wheel on PyPI. */
async function generate(
  t: ExecutionContext,
  target: string,
  generator: string,
  options: string,
): Promise<void> {
  const jar = await openapiGenerator.get((line) => t.log(line));
  const parts = 'models,apis,supportingFiles,apiDocs=false,modelDocs=false,apiTests=false,modelTests=false';
  const input = ['-i', document, '-g', generator, '-o', target, '--global-property', parts];
  await run(
    folder,
    'java',
    ...['-jar', join(jar, 'openapi_generator_cli/openapi-generator.jar'), 'generate', ...input],
    ...['--additional-properties', options],
  );
}

test.serial('openapi-typescript: its types are strict and its client calls the service', async (t) => {
  t.timeout(900_000);
  const at = await makeFolder('openapi-typescript');
  const generator = join(await npmPackages(t), 'node_modules/openapi-typescript/bin/cli.js');
  // Otherwise inputs must contain the fields that have a default.
  const options = ['-o', 'client.d.ts', '--default-non-nullable', 'false'];
  await run(at, process.execPath, generator, document, ...options);
  await runTypescript(t, at, 'openapi-typescript.mts', {});
});

test.serial('@hey-api/openapi-ts: its client is strict and calls the service', async (t) => {
  t.timeout(900_000);
  const at = await makeFolder('hey-api');
  const generator = join(await npmPackages(t), 'node_modules/.bin/openapi-ts');
  // The imports of Node.js need file extensions.
  const config = { input: document, output: { path: 'client', module: { extension: '.js' } } };
  await writeFile(join(at, 'openapi-ts.config.mjs'), `export default ${JSON.stringify(config)};\n`);
  await run(at, process.execPath, generator, '-f', 'openapi-ts.config.mjs');
  await runTypescript(t, at, 'hey-api.mts', { module: 'NodeNext', moduleResolution: 'NodeNext' });
});

test.serial('OpenAPI Generator, typescript-fetch: its client is strict and calls the service', async (t) => {
  t.timeout(900_000);
  const at = await makeFolder('typescript-fetch');
  await generate(t, join(at, 'client'), 'typescript-fetch', 'importFileExtension=.js');
  // The generator's own runtime.ts does not compile with noUncheckedIndexedAccess.
  await runTypescript(t, at, 'typescript-fetch.mts', { noUncheckedIndexedAccess: false });
});

test.serial('openapi-python-client: its client passes mypy --strict and calls the service', async (t) => {
  t.timeout(900_000);
  const at = await makeFolder('python');
  const python = join(await pythonGenerator.get((line) => t.log(line)), 'bin/python');
  const options = ['--path', document, '--output-path', 'client', '--meta', 'none'];
  await run(at, python, '-m', 'openapi_python_client', 'generate', ...options);
  await copyFile(program('openapi_python_client.py'), join(at, 'main.py'));
  // The generator's own client.py passes untyped arguments to httpx.
  const settings = '[mypy]\nstrict = True\n[mypy-client.client]\ndisable_error_code = arg-type\n';
  await writeFile(join(at, 'mypy.ini'), settings);
  await run(at, python, '-m', 'mypy', 'main.py', 'client');
  checkCalls(t, await run(at, python, 'main.py'));
});

/** Checks `main.go` and the generated client with `go vet`, and runs it. */
async function runGo(t: ExecutionContext, at: string, name: string): Promise<void> {
  await copyFile(program(name), join(at, 'main.go'));
  const modules = await goModules.get((line) => t.log(line));
  for (const file of ['go.mod', 'go.sum']) await copyFile(join(modules, file), join(at, file));
  await run(at, 'go', 'vet', './...');
  checkCalls(t, await run(at, 'go', 'run', '.'));
}

test.serial('OpenAPI Generator, go: its client passes go vet and calls the service', async (t) => {
  t.timeout(900_000);
  const at = await makeFolder('openapi-generator-go');
  const generated = await makeFolder('openapi-generator-go-files');
  await generate(t, generated, 'go', 'packageName=client,withGoMod=false');
  await cp(generated, join(at, 'client'), { recursive: true });
  await runGo(t, at, 'openapi-generator.go.txt');
});

test.serial('oapi-codegen: its client passes go vet and calls the service', async (t) => {
  t.timeout(900_000);
  const at = await makeFolder('oapi-codegen');
  await mkdir(join(at, 'client'));
  const generator = await oapiCodegen.get((line) => t.log(line));
  const options = ['-generate', 'types,client', '-package', 'client', '-o', 'client/client.go'];
  await run(at, generator, ...options, document);
  await runGo(t, at, 'oapi-codegen.go.txt');
});

test.serial(
  'OpenAPI Generator, java: its client compiles without warnings and calls the service',
  async (t) => {
    t.timeout(900_000);
    const at = await makeFolder('java');
    const libraries = await javaLibraries.get((line) => t.log(line));
    const generated = join(at, 'client');
    await generate(t, generated, 'java', 'library=native,useJakartaEe=true,openApiNullable=false');
    await copyFile(program('Main.java.txt'), join(at, 'Main.java'));
    const sources = (await readdir(join(generated, 'src/main/java'), { recursive: true }))
      .filter((name) => name.endsWith('.java'))
      .map((name) => join(generated, 'src/main/java', name));
    const jars = (await readdir(join(libraries, 'lib')))
      .map((name) => join(libraries, 'lib', name))
      .join(':');
    // The generated serializers have no serialVersionUID, and its ApiClient calls a deprecated method of Jackson.
    const lint = ['-Xlint:all,-serial,-deprecation', '-Werror'];
    await run(at, 'javac', '--release', '17', ...lint, '-cp', jars, '-d', 'out', 'Main.java', ...sources);
    checkCalls(t, await run(at, 'java', '-cp', `out:${jars}`, 'Main'));
  },
);
