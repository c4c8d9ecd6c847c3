import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Env, EnvError, readEnv, VARIABLES } from '../schemas/env.ts';
import { loadRegistry } from '../schemas/registry.ts';
import { type Keyring, loadKeyring } from '../store/keyring.ts';
import { assertMasterKeys } from '../store/masterKeys.ts';
import { openStore } from '../store/mongo.ts';
import { ensureDemo } from './demo.ts';
import { type DemoFile, readDemoFile, writeDemoFile } from './demo-file.ts';
import { serviceEnv } from './host.mjs';
import { takeLock } from './lock.mjs';
import { prepareNamespace } from './namespace.ts';
import { tryPort } from './ports.ts';
import { installToolPrograms } from './programs/tools.ts';
import { defaultPools, type Servers, startServers, startService } from './stack.ts';
import { StartError } from './start-error.ts';
import { stopSignal } from './stop-signal.ts';

/** How long the processes of a stack that was killed may still hold its port. */
const ABANDONED_MS = 15_000;
/** Every process has its own deadline; this one is for what nobody thought of. */
const STOP_MS = 60_000;

const log = (line: string) => console.log(line);

async function claimPort(name: 'PORT' | 'INTERNAL_PORT', env: Env, patience: number): Promise<void> {
  const deadline = Date.now() + patience;
  for (;;) {
    const result = await tryPort(env[name], env.HOST);
    if ('port' in result) return;
    const { error } = result;
    const isTaken = 'code' in error && (error.code === 'EADDRINUSE' || error.code === 'EACCES');
    const what = `cannot listen on ${env.HOST}:${env[name]} (${error.message})`;
    if (!isTaken) throw new StartError(`HOST: ${what}`);
    if (Date.now() > deadline) throw new StartError(`${name}: ${what}; set another, or 0 for any`);
    await sleep(200);
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    // Node's recursive mkdir never ends where the last folder cannot be made (in /proc).
    await mkdir(dirname(folder), { recursive: true });
    if (!existsSync(folder)) await mkdir(folder);
    await readdir(folder);
    // Databases and keys: for its owner alone.
    await chmod(folder, 0o700);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StartError(`DATA_DIR: cannot use ${folder} (${why})`);
  }
}

async function claimDataDir(folder: string) {
  await makeFolder(folder);
  const lock = await takeLock(join(folder, 'lock'));
  if (lock === null)
    throw new StartError(
      `DATA_DIR: a stack already runs in ${folder}; stop it or set another DATA_DIR (and PORT)`,
    );
  return lock;
}

/** Text of the service's variables for its processes: ours, with the addresses that came out of this start. */
function childEnv(env: Env, servers: Servers): Record<string, string> {
  const { MONGODB_URI_FILE: _replaced, ...ours } = serviceEnv(Object.keys(VARIABLES));
  const { DATA_DIR, TEMPORAL_NAMESPACE } = env;
  const { mongodbUri, temporalAddress, temporalUiUrl } = servers;
  const found = { MONGODB_URI: mongodbUri, TEMPORAL_ADDRESS: temporalAddress };
  const ui = temporalUiUrl === null ? {} : { TEMPORAL_UI_URL: temporalUiUrl };
  return { ...ours, ...found, ...ui, DATA_DIR, TEMPORAL_NAMESPACE };
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

async function curlLine(baseUrl: string, apiKey: string): Promise<string> {
  const registry = await loadRegistry();
  const tool = registry.get('hash-text') ?? [...registry.values()][0];
  const body = JSON.stringify(tool?.examples[0]?.input ?? {});
  const headers = [`Authorization: Bearer ${apiKey}`, 'Content-Type: application/json'];
  const options = headers.map((header) => `-H ${shellQuoted(header)}`).join(' ');
  return `curl ${baseUrl}/api/v1/tools/${tool?.name} ${options} -d ${shellQuoted(body)}`;
}

function announce(demo: DemoFile, curl: string): void {
  const lines = [
    ['API', demo.baseUrl],
    ['Reference', `${demo.baseUrl}/docs`],
    ['Dashboard', `${demo.dashboardUrl}  (${demo.email} / ${demo.password})`],
    ['Temporal UI', demo.temporalUiUrl ?? `that of ${demo.temporalAddress}`],
    ['API key', demo.apiKey],
    ['Account key', demo.accountKey],
  ];
  log('');
  for (const [name = '', value] of lines) log(`${name.padEnd(12)} ${value}`);
  log(`\nTry it:\n${curl}\n`);
}

/** As every process does at its start; here it is one line instead of one a process. @throws EnvError */
async function checkMasterKeys(mongodbUri: string, keyring: Keyring): Promise<void> {
  const store = await openStore(mongodbUri);
  try {
    await assertMasterKeys(store, keyring);
  } finally {
    await store.close();
  }
}

async function main(signal: AbortSignal): Promise<void> {
  const env = readEnv();
  await using owned = new AsyncDisposableStack();
  const lock = owned.adopt(await claimDataDir(env.DATA_DIR), (it) => it.release());
  const patience = lock.abandoned ? ABANDONED_MS : 0;
  await claimPort('PORT', env, patience);
  await claimPort('INTERNAL_PORT', env, patience);
  const keyring = loadKeyring(env);
  // Before anything starts: a damaged file would otherwise be noticed only when everything runs.
  await readDemoFile(env.DATA_DIR);
  if (env.EGRESS_ALLOW.length > 0)
    log(
      `!! EGRESS_ALLOW lets callers reach ${env.EGRESS_ALLOW.map(({ text }) => text).join(', ')} through this service !!`,
    );

  await installToolPrograms(env, log, signal);
  const common = { log, signal, supervise: true };
  const servers = owned.adopt(
    await startServers({
      ...common,
      dataDir: env.DATA_DIR,
      mongodbUri: env.MONGODB_URI,
      temporalAddress: env.TEMPORAL_ADDRESS,
    }),
    (it) => it.stop(),
  );
  const { mongodbUri, temporalAddress } = servers;
  await checkMasterKeys(mongodbUri, keyring);
  await prepareNamespace(temporalAddress, env.TEMPORAL_NAMESPACE);
  const service = owned.adopt(
    await startService({
      ...common,
      env: childEnv(env, servers),
      serverPorts: servers.ports,
      pools: await defaultPools(),
      logDir: join(env.DATA_DIR, 'logs'),
    }),
    (it) => it.stop(),
  );
  const { baseUrl, internalUrl } = service;
  servers.serveCodec(baseUrl);
  const demo = {
    baseUrl,
    dashboardUrl: `${baseUrl}/dashboard`,
    temporalUiUrl: servers.temporalUiUrl,
    ...(await ensureDemo({ env, mongodbUri })),
    temporalAddress,
    temporalNamespace: env.TEMPORAL_NAMESPACE,
    mongodbUri,
    internalUrl,
    codecUrl: `${baseUrl}/codec`,
  };
  signal.throwIfAborted();
  await writeDemoFile(env.DATA_DIR, demo);
  announce(demo, await curlLine(baseUrl, demo.apiKey));
  log(`ready: ${baseUrl}`);
  if (!signal.aborted) await once(signal, 'abort');
}

const signal = stopSignal(() => {
  log('Stopping …');
  setTimeout(() => process.exit(1), STOP_MS).unref();
});
try {
  await main(signal);
} catch (error) {
  if (!signal.aborted) {
    const expected = error instanceof EnvError || error instanceof StartError;
    console.error(expected ? error.message : error);
    process.exitCode = 1;
  }
}
if (signal.aborted) log('Stopped.');
process.exit();
