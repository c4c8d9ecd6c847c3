import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import sharp from 'sharp';
import { request } from 'undici';
import { parse } from 'yaml';
import { drain, listen } from '../../platform/listen.ts';
import { CONFINED_POOLS } from '../../schemas/pools.ts';
import { isRecord, recordAt } from '../helpers/json.ts';
import { helm as helmProgram } from '../provision/items/helm.ts';
import {
  BUILD_MS,
  buildStandIns,
  COMMAND_MS,
  cache,
  ensureEngine,
  ensureGo,
  env,
  hasFailed,
  here,
  root,
  run,
  runCleanup,
  runTest,
  signal,
  step,
} from './harness.ts';
import { checkPolicies } from './kubernetes/policies.ts';

// Installs the chart of deploy/helm on a Kubernetes node of its own (Debian, root), upgrades it, rolls it back, and lets KEDA
// scale a pool.
//   npm run test:kubernetes                  builds the images with the machine's Docker, or one started by engine.sh
//   npm run test:kubernetes -- --stand-ins   for machines without access to an image registry; see stand-ins.sh
//   … --keep                                 leaves the node and the engine running
//   … --images                               uses images of an earlier run, also for a node left by --keep

const CHART = join(root, 'deploy/helm/utility-tools');
const FILES = join(here, 'kubernetes');
const NODE = join(cache, 'kubernetes');
const RELEASE = 'tools';
const NAMESPACE = 'tools';
const NAME = `${RELEASE}-utility-tools`;
const MONGODB = 'mongodb://mongodb.servers:27017/utility_tools?replicaSet=rs0';
/** Server that callers' URLs name: the address of cluster.sh for the Internet, and the port that values.yaml allows. */
const TARGET = { host: '203.0.113.1', port: 8099 };
/** Where cluster.sh runs the API server of Kubernetes. */
const KUBERNETES = { host: '10.245.0.1', port: 16443 };
/** Folder of the node that the backup writes to. */
const BACKUPS = join(NODE, 'backups');
/** Programs of KEDA that keda.sh builds. */
const KEDA_PROGRAMS = ['keda', 'keda-adapter'];
/** Milliseconds within which all pods must be ready; an idle machine takes two minutes. */
const READY_MS = 20 * 60_000;
/** Number of concurrent callers during an upgrade. */
const CALLERS = 4;
/** Callers that keep the queue of the cpu pool full, and milliseconds that each of their calls waits for its image. */
const BACKLOG = { callers: 16, targetMs: 2_000 };
/** Milliseconds within which KEDA must have added or removed workers. */
const SCALE_MS = 10 * 60_000;

const { values: flags } = parseArgs({
  options: {
    'stand-ins': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    images: { type: 'boolean', default: false },
  },
});

const kubectl = (args: readonly string[], timeoutMs?: number) =>
  run(join(NODE, 'bin/kubectl'), args, root, timeoutMs);
const inTools = (args: readonly string[], timeoutMs?: number) =>
  kubectl(['--namespace', NAMESPACE, ...args], timeoutMs);
const helm = async (args: readonly string[], timeoutMs?: number) =>
  run(await helmProgram.get(console.log), ['--namespace', NAMESPACE, ...args], root, timeoutMs);
const cluster = (command: string) => [join(FILES, 'cluster.sh'), command, NODE];

async function componentsOf(): Promise<string[]> {
  return Object.keys(recordAt(parse(await readFile(join(CHART, 'values.yaml'), 'utf8')), 'components'));
}

/** Returns the images that the manifests of MongoDB and Temporal name. */
async function serverImages(): Promise<string[]> {
  const manifests = await readFile(join(FILES, 'servers.yaml'), 'utf8');
  return [...manifests.matchAll(/image: (\S+)/g)].map(([, image = '']) => image);
}

/** Builds an image on Debian with a Dockerfile of these lines, and files of the node's folder of programs. */
async function buildSmallImage(image: string, files: readonly string[], ...lines: string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-image-'));
  try {
    for (const file of files) await cp(join(NODE, 'bin', file), join(folder, file));
    await writeFile(join(folder, 'Dockerfile'), ['FROM debian:bookworm-slim', ...lines, ''].join('\n'));
    await run('docker', ['build', '--tag', image, folder], root, BUILD_MS);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Builds the images of the chart as two releases of the same code and loads them into the node. */
async function provideImages(components: readonly string[]): Promise<void> {
  const stop = await ensureEngine();
  try {
    if (flags['stand-ins']) await buildStandIns();
    const images = [
      ...['localhost/pause:1', 'utility-tools-coredns:1', 'utility-tools-keda:1'],
      ...(await serverImages()),
    ];
    await buildSmallImage('localhost/pause:1', [], 'CMD ["sleep", "infinity"]');
    await buildSmallImage('utility-tools-coredns:1', ['coredns'], 'COPY coredns /');
    await buildSmallImage(
      'utility-tools-keda:1',
      KEDA_PROGRAMS,
      `COPY ${KEDA_PROGRAMS.join(' ')} /`,
      'USER 65532:65532',
    );
    for (const name of components) {
      const image = `utility-tools-${name}`;
      await run('docker', ['build', '--target', name, '--tag', `${image}:1`, '.'], root, BUILD_MS);
      await run('docker', ['tag', `${image}:1`, `${image}:2`], root);
      images.push(`${image}:1`, `${image}:2`);
    }
    const pipe = 'images=$1; shift; docker save $images | "$@"';
    await run('sh', ['-c', pipe, 'sh', images.join(' '), ...cluster('load')], root, BUILD_MS);
  } finally {
    if (!flags.keep) await stop();
  }
}

/** Installs KEDA; does not wait for its pods. @param manifests path of its manifests */
async function installKeda(manifests: string): Promise<void> {
  // Applied on the server, because the definitions are too long for the annotation that a client-side apply adds.
  await kubectl(['apply', '--server-side', '--filename', manifests]);
  await kubectl([
    'wait',
    '--for=condition=Established',
    'customresourcedefinition',
    '--all',
    '--timeout=60s',
  ]);
}

interface Caller {
  url: string;
  key: string;
}

/** Creates an account. Returns the URL of the API's Service and a key of the account. */
async function signUp(): Promise<Caller> {
  const command = ['create-account', '--email', 'owner@example.com', '--credits', '100000', '--json'];
  const output = await inTools(['exec', `deploy/${NAME}-api`, '--', 'node', 'api/cli/admin.ts', ...command]);
  const address = await inTools(['get', 'service', `${NAME}-api`, '--output', 'jsonpath={.spec.clusterIP}']);
  return { url: `http://${address}`, key: String(recordAt(JSON.parse(output)).apiKey) };
}

const secret = (name: string, ...entries: string[]) =>
  inTools(['create', 'secret', 'generic', name, ...entries]);

/** Creates the secrets that the chart refers to, as docs/operations.md describes. */
async function createSecrets(): Promise<void> {
  const values = {
    master_keys: `test:${randomBytes(32).toString('base64')}`,
    mongodb_uri: MONGODB,
    mongodb_gateway_uri: MONGODB,
    mongodb_backup_uri: MONGODB.replace('/utility_tools', '/'),
  };
  await secret(
    'utility-tools',
    ...Object.entries(values).map(([name, value]) => `--from-literal=${name}=${value}`),
  );
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-certificates-'));
  try {
    await run('node', ['workers/certificates/main.ts', folder], root);
    for (const name of ['gateway', ...CONFINED_POOLS])
      await secret(`utility-tools-${name}`, `--from-file=${join(folder, name)}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Creates the volume for backups, in a folder of the node. */
async function createBackupVolume(): Promise<void> {
  // Contains the dumps of an earlier run.
  await rm(BACKUPS, { recursive: true, force: true });
  await mkdir(BACKUPS, { recursive: true });
  // Kubernetes changes no permissions of a folder of the node.
  await chmod(BACKUPS, 0o777);
  const manifest = join(NODE, 'backups.yaml');
  const claim = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  const size = { storage: '1Gi' };
  await writeFile(
    manifest,
    [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'backups' },
        spec: { ...claim, capacity: size, hostPath: { path: BACKUPS } },
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'backups' },
        spec: { ...claim, resources: { requests: size }, volumeName: 'backups' },
      },
    ]
      .map((object) => JSON.stringify(object))
      .join('\n---\n'),
  );
  await inTools(['apply', '--filename', manifest]);
}

/** Makes one call. @returns null if it succeeded, else what failed */
async function call(
  { url, key }: Caller,
  input: Record<string, unknown>,
  tool = 'hash-text',
): Promise<string | null> {
  try {
    const { statusCode, body } = await request(`${url}/api/v1/tools/${tool}`, {
      method: 'POST',
      // Uses a new connection for each call, as many separate clients would.
      reset: true,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(input),
      headersTimeout: COMMAND_MS,
      signal,
    });
    const answer = await body.text();
    return statusCode === 200 ? null : `${statusCode} ${answer}`;
  } catch (error) {
    return String(error);
  }
}

/**
 * Makes calls until `work` has ended.
 *
 * @param makeCall makes one call, which contains a text; returns what failed
 * @throws when a call fails
 */
async function underLoad(
  callerCount: number,
  makeCall: (text: string) => Promise<string | null>,
  work: () => Promise<unknown>,
): Promise<void> {
  let isOver = false;
  let succeeded = 0;
  const failed: string[] = [];
  const callers = Array.from({ length: callerCount }, async (_, number) => {
    for (let turn = 0; !isOver; turn++) {
      const problem = await makeCall(`${number}-${turn}`);
      if (problem === null) succeeded++;
      else failed.push(problem);
      await sleep(50);
    }
  });
  try {
    await work();
  } finally {
    isOver = true;
    await Promise.all(callers);
  }
  console.log(`# ${succeeded} calls succeeded, ${failed.length} failed`);
  assert.deepEqual(failed.slice(0, 5), []);
  assert.ok(succeeded > callerCount);
}

/** Starts the server that callers' URLs name; it answers with a PNG after a time. @returns the URL of the image */
async function serveImage(owned: AsyncDisposableStack, image: Buffer, afterMs = 0): Promise<string> {
  const target = createServer(async (_, response) => {
    await sleep(afterMs);
    response.setHeader('Content-Type', 'image/png').end(image);
  });
  owned.defer(() => drain(target));
  return `${await listen(target, TARGET.host, TARGET.port)}/a.png`;
}

/** Waits until the cpu pool has exactly this number of workers, and all of them are ready. */
async function untilWorkers(count: number): Promise<void> {
  for (const field of ['spec.replicas', 'status.replicas', 'status.readyReplicas']) {
    const condition = [`--for=jsonpath={.${field}}=${count}`, `--timeout=${SCALE_MS / 1000}s`];
    await inTools(['wait', ...condition, `deployment/${NAME}-cpu`], SCALE_MS + COMMAND_MS);
  }
}

/** Returns the build of the orchestrator to which Temporal assigns new calls. */
async function currentBuild(): Promise<unknown> {
  const command = ['temporal', '--namespace', 'utility-tools', 'worker', 'deployment', 'describe'];
  const output = await kubectl([
    ...['--namespace', 'servers', 'exec', 'deploy/temporal', '--'],
    ...[...command, '--name', 'orchestrator', '--output', 'json'],
  ]);
  const routing: unknown = recordAt(JSON.parse(output)).routingConfig;
  return isRecord(routing) ? routing.currentVersionBuildID : routing;
}

/**
 * Checks the pods against the Pod Security level `restricted`. Returns one line per violation, with the first pod that
 * has it.
 */
async function violations(): Promise<string[]> {
  const label = ['label', '--dry-run=server', '--overwrite', 'namespace', NAMESPACE];
  const command = [join(NODE, 'bin/kubectl'), ...label, 'pod-security.kubernetes.io/enforce=restricted'];
  const output = await run('sh', ['-c', '"$@" 2>&1', 'sh', ...command], root);
  return [...output.matchAll(/^Warning: (tools-.*)$/gm)].map(([, warning = '']) => warning);
}

async function main(): Promise<void> {
  await using owned = new AsyncDisposableStack();
  const components = await componentsOf();
  owned.defer(async () => {
    if (!flags.keep) await runCleanup('bash', cluster('down'), root);
  });
  await ensureGo();
  env.KUBECONFIG = (await run('bash', cluster('up'), root, BUILD_MS)).trim();
  await run('bash', [join(FILES, 'coredns.sh'), NODE], root, BUILD_MS);
  const keda = join(NODE, 'keda.yaml');
  await writeFile(keda, await run('bash', [join(FILES, 'keda.sh'), NODE], root, BUILD_MS));
  await helmProgram.get(console.log);
  if (!flags.images) await provideImages(components);

  const requests = components.map((name) => {
    const path = `components.${name}.resources.requests`;
    return `${path}.cpu=10m,${path}.memory=64Mi`;
  });
  const values = ['--values', join(FILES, 'values.yaml'), '--set', requests.join(',')];
  const release = (tag: string) => [RELEASE, CHART, ...values, '--set-string', `image.tag=${tag}`];
  const wait = ['--wait', '--timeout', `${READY_MS / 1000}s`];

  await step('helm lint reports no fault', () => helm(['lint', CHART, ...values]));
  await step('the API server accepts every object with every option', async () => {
    await installKeda(keda);
    const options = ['autoscaling', 'ingress', 'keda'].map((name) => `${name}.enabled=true`);
    const all = [...options, 'sandbox.unmaskedProc=true'].flatMap((option) => ['--set', option]);
    await kubectl(['create', 'namespace', NAMESPACE]);
    const manifests = await helm(['template', ...release('1'), ...all, '--kube-version', '1.34.0']);
    await writeFile(join(NODE, 'all.yaml'), manifests);
    await inTools(['apply', '--dry-run=server', '--filename', join(NODE, 'all.yaml')]);
  });
  await step('DNS, MongoDB and Temporal start', async () => {
    await kubectl(['apply', '--filename', join(FILES, 'dns.yaml')]);
    await kubectl(['create', 'namespace', 'servers']);
    await kubectl(['--namespace', 'servers', 'apply', '--filename', join(FILES, 'servers.yaml')]);
    const available = ['wait', '--for=condition=Available', 'deployment', '--all', '--timeout=1200s'];
    for (const namespace of ['kube-system', 'servers'])
      await kubectl(['--namespace', namespace, ...available], READY_MS);
  });
  await step('helm install: every pod becomes ready', async () => {
    await createSecrets();
    await createBackupVolume();
    await helm(['install', ...release('1'), ...wait], READY_MS);
  });
  if (hasFailed()) return;

  await step('only confined pools need more than the Pod Security level "restricted" allows', async () => {
    const [first = '', ...others] = await violations();
    const pod = `tools-utility-tools-(?:${CONFINED_POOLS.join('|')})-\\S+`;
    const last = `and ${CONFINED_POOLS.length - 1} other pods?`;
    assert.match(first, new RegExp(`^${pod} \\(${last}\\): seccompProfile$`));
    assert.deepEqual(others, []);
  });
  await step('helm test is green, and again with its account', async () => {
    await helm(['test', RELEASE, '--timeout', '300s'], READY_MS);
    await helm(['test', RELEASE, '--timeout', '300s'], READY_MS);
  });
  const caller = await signUp();
  const hashText = (text: string) => call(caller, { text });
  await step('a call is answered through the Service', async () => {
    assert.equal(await hashText('abc'), null);
    assert.equal(await currentBuild(), '1');
  });
  await step('a call of the heavy pool is answered through the gateway', async () => {
    // The result is so large that the gateway stores it in MongoDB.
    const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
    const image = await sharp({ create: { width: 220, height: 160, channels: 3, background: '#000', noise } })
      .png()
      .toBuffer();
    await using served = new AsyncDisposableStack();
    const fileUrl = await serveImage(served, image);
    assert.equal(await call(caller, { fileUrl, factor: 2 }, 'image-upscale'), null);
  });
  await step('each pod reaches only what the network policies allow', async () => {
    await using served = new AsyncDisposableStack();
    await serveImage(served, Buffer.of());
    await checkPolicies({
      ...{ kubectl, components, internet: TARGET, kubernetes: KUBERNETES },
      namespaces: { release: NAMESPACE, servers: 'servers' },
      labels: `app.kubernetes.io/name=utility-tools,app.kubernetes.io/instance=${RELEASE}`,
    });
  });
  await step('the backup writes a dump, and records its success', async () => {
    await inTools(['create', 'job', 'backup-now', '--from', `cronjob/${NAME}-backup`]);
    await inTools(['wait', '--for=condition=Complete', 'job/backup-now', '--timeout=110s']);
    const [dump = '', ...others] = await readdir(BACKUPS);
    assert.match(dump, /Z\.gz$/);
    assert.deepEqual(others, []);
    const script = `const { succeededAt } = db.getSiblingDB('utility_tools').maintenance.findOne({ _id: 'backup' });
      if (Date.now() - succeededAt > 600_000) quit(1)`;
    const shell = ['exec', 'deploy/mongodb', '--', 'mongosh', '--quiet', '--norc', '--eval', script];
    await kubectl(['--namespace', 'servers', ...shell]);
  });
  await step('helm upgrade under load: no call fails, and new calls run on the new build', async () => {
    await underLoad(CALLERS, hashText, () => helm(['upgrade', ...release('2'), ...wait], READY_MS));
    assert.equal(await currentBuild(), '2');
  });
  await step('helm rollback under load: no call fails, and new calls run on the old build', async () => {
    await underLoad(CALLERS, hashText, () => helm(['rollback', RELEASE, ...wait], READY_MS));
    assert.equal(await currentBuild(), '1');
  });
  await step('KEDA adds workers for a backlog and removes them when it is gone; no call fails', async () => {
    const available = ['wait', '--for=condition=Available', 'deployment', '--all', '--timeout=600s'];
    await kubectl(['--namespace', 'keda', ...available], READY_MS);
    const keda = ['enabled=true', 'pollingInterval=5', 'scaleDownAfter=10'];
    const pool = ['maxReplicas=3', 'backlog=4'].map((option) => `pools.cpu.${option}`);
    const options = [...keda, ...pool].flatMap((option) => ['--set', `keda.${option}`]);
    await helm(['upgrade', ...release('1'), ...options, ...wait], READY_MS);
    await inTools(['wait', '--for=condition=Ready', 'scaledobject', '--all', '--timeout=110s']);
    await untilWorkers(1);
    await using served = new AsyncDisposableStack();
    const image = await sharp({ create: { width: 32, height: 32, channels: 3, background: '#fff' } })
      .png()
      .toBuffer();
    const fileUrl = await serveImage(served, image, BACKLOG.targetMs);
    const addWatermark = (text: string) => call(caller, { fileUrl, text }, 'watermark-image');
    await underLoad(BACKLOG.callers, addWatermark, () => untilWorkers(3));
    await underLoad(1, hashText, () => untilWorkers(1));
  });
  await step('helm test is green at the end', () => helm(['test', RELEASE, '--timeout', '300s'], READY_MS));
  if (hasFailed()) console.log(await inTools(['get', 'pods,events']));
}

await runTest(main);
