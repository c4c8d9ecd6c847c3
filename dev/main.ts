import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Keyring, loadKeyring } from '../platform/secrets/keyring.ts';
import { type Env, EnvError, readEnv, VARIABLES } from '../schemas/env.ts';
import { loadRegistry } from '../schemas/registry.ts';
import { openStore } from '../store/mongo/mongo.ts';
import { assertMasterKeys } from '../store/secrets/masterKeys.ts';
import { arePacked, packClients } from './clients/pack.ts';
import { type DemoFile, readDemoFile, writeDemoFile } from './demo-file.ts';
import { serviceEnv } from './host.mjs';
import { acquireLock } from './lock.mjs';
import { prepareNamespace } from './namespace.ts';
import { tryPort } from './ports.ts';
import { findToolPrograms } from './programs/tools.ts';
import { defaultPools, type Servers, startServers, startService } from './stack.ts';
import { StartError } from './start-error.ts';
import { stopSignal } from './stop-signal.ts';

/** Milliseconds for which processes of a killed stack may still occupy the ports of that stack. */
const ABANDONED_PORT_MS = 15_000;
/**
 * Milliseconds after a stop signal at which this process exits even if stopping hangs. Each process that it stops has
 * its own shorter deadline.
 */
const STOP_MS = 60_000;

const log = (line: string) => console.log(line);

/**
 * Waits up to `timeoutMs` milliseconds until the port is free.
 *
 * @throws StartError when this process cannot listen on it
 */
async function ensurePortFree(name: 'PORT' | 'INTERNAL_PORT', env: Env, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const result = await tryPort(env[name], env.HOST);
    if ('port' in result) return;
    const { error } = result;
    const isTaken = 'code' in error && (error.code === 'EADDRINUSE' || error.code === 'EACCES');
    const message = `cannot listen on ${env.HOST}:${env[name]} (${error.message})`;
    if (!isTaken) throw new StartError(`HOST: ${message}. Set HOST to an address of this machine.`);
    if (Date.now() > deadline)
      throw new StartError(`${name}: ${message}. Set ${name} to another port, or to 0 for any free port.`);
    await sleep(200);
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    // A recursive mkdir of `folder` itself hangs in Node where the folder cannot be created, for example in /proc.
    await mkdir(dirname(folder), { recursive: true });
    if (!existsSync(folder)) await mkdir(folder);
    await readdir(folder);
    // The folder contains databases and keys, so only its owner may access it.
    await chmod(folder, 0o700);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(`DATA_DIR: cannot use ${folder} (${reason}). Set DATA_DIR to a writable folder.`);
  }
}

/**
 * Locks the data folder for this stack.
 *
 * @throws StartError when the folder cannot be used or another stack runs in it
 */
async function lockDataDir(folder: string) {
  await makeFolder(folder);
  const lock = await acquireLock(join(folder, 'lock'));
  if (lock === null)
    throw new StartError(
      `DATA_DIR: a stack already runs in ${folder}. Stop it, or set another DATA_DIR and PORT.`,
    );
  return lock;
}

/**
 * Returns the environment variables of the service's processes: those of this process, plus the addresses of MongoDB
 * and Temporal, and the folder of unpacked programs.
 */
function childEnv(env: Env, servers: Servers, programs: string | null): Record<string, string> {
  const { MONGODB_URI_FILE: _replaced, ...inherited } = serviceEnv(Object.keys(VARIABLES));
  const { DATA_DIR, TEMPORAL_NAMESPACE } = env;
  const { mongodbUri, temporalAddress, temporalUiUrl } = servers;
  const addresses = { MONGODB_URI: mongodbUri, TEMPORAL_ADDRESS: temporalAddress };
  const ui = temporalUiUrl === null ? {} : { TEMPORAL_UI_URL: temporalUiUrl };
  const folders = programs === null ? { DATA_DIR } : { DATA_DIR, PROGRAMS_DIR: programs };
  return { ...inherited, ...addresses, ...ui, ...folders, TEMPORAL_NAMESPACE };
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

async function exampleCommand(baseUrl: string, apiKey: string): Promise<string> {
  const registry = await loadRegistry();
  const tool = registry.get('hash-text') ?? [...registry.values()][0];
  const body = JSON.stringify(tool?.examples[0]?.input ?? {});
  const headers = [`Authorization: Bearer ${apiKey}`, 'Content-Type: application/json'];
  const options = headers.map((header) => `-H ${shellQuoted(header)}`).join(' ');
  return `curl ${baseUrl}/api/v1/tools/${tool?.name} ${options} -d ${shellQuoted(body)}`;
}

function printSummary(demo: DemoFile, command: string): void {
  const lines = [
    ['API', demo.baseUrl],
    ['Documentation', `${demo.baseUrl}/docs`],
    ['Dashboard', `${demo.dashboardUrl}  (${demo.email} / ${demo.password})`],
    ['Temporal UI', demo.temporalUiUrl ?? `not part of this stack; use the UI of ${demo.temporalAddress}`],
    ['API key', demo.apiKey],
    ['Account key', demo.accountKey],
  ];
  log('');
  for (const [name = '', value] of lines) log(`${name.padEnd(13)} ${value}`);
  log(`\nTry it:\n${command}\n`);
}

/**
 * Checks that the master keys can decrypt the data in MongoDB. Every process also checks this; checking it here first
 * reports an error once instead of once per process.
 *
 * @throws EnvError
 */
async function checkMasterKeys(mongodbUri: string, keyring: Keyring): Promise<void> {
  const store = await openStore(mongodbUri);
  try {
    await assertMasterKeys(store, keyring);
  } finally {
    await store.close();
  }
}

/** Packs the clients that the API serves, unless that has been done. A failure ends nothing: all else works without them. */
async function offerClients(folder: string, signal: AbortSignal): Promise<void> {
  try {
    if (await arePacked(folder)) return;
    await packClients(folder, { python: 'python3', isIsolated: true, signal });
  } catch (error) {
    if (signal.aborted) return;
    const reason = error instanceof Error ? error.message : error;
    log(`Warning: Not all clients could be packed (${reason}). "npm run clients" tries again.`);
  }
}

async function main(signal: AbortSignal): Promise<void> {
  const env = readEnv();
  await using owned = new AsyncDisposableStack();
  const lock = owned.adopt(await lockDataDir(env.DATA_DIR), (it) => it.release());
  const portTimeoutMs = lock.abandoned ? ABANDONED_PORT_MS : 0;
  await ensurePortFree('PORT', env, portTimeoutMs);
  await ensurePortFree('INTERNAL_PORT', env, portTimeoutMs);
  const keyring = loadKeyring(env);
  // A damaged demo.json is reported before anything starts. Otherwise the error would appear only after the whole stack
  // has started.
  await readDemoFile(env.DATA_DIR);
  if (env.EGRESS_ALLOW.length > 0)
    log(
      `Warning: EGRESS_ALLOW lets callers reach ${env.EGRESS_ALLOW.map(({ text }) => text).join(', ')} through this service.`,
    );

  const common = { log, signal, supervise: true };
  const finding = env.PROGRAMS_DIR ?? findToolPrograms(log, signal);
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
  await Promise.all([
    checkMasterKeys(mongodbUri, keyring),
    prepareNamespace(temporalAddress, env.TEMPORAL_NAMESPACE),
  ]);
  const service = owned.adopt(
    await startService({
      ...common,
      env: childEnv(env, servers, await finding),
      serverPorts: servers.ports,
      pools: await defaultPools(),
      logDir: join(env.DATA_DIR, 'logs'),
    }),
    (it) => it.stop(),
  );
  const { baseUrl, internalUrl } = service;
  // Loaded only now, because the packages of the sign-in would delay the start of the servers.
  const { ensureDemo } = await import('./demo.ts');
  servers.setApiUrl(baseUrl);
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
  printSummary(demo, await exampleCommand(baseUrl, demo.apiKey));
  log(`ready: ${baseUrl}`);
  const offered = offerClients(join(env.DATA_DIR, 'clients'), signal);
  if (!signal.aborted) await once(signal, 'abort');
  await offered;
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
