import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { request } from 'undici';
import { parse } from 'yaml';
import { isRecord, recordAt } from '../helpers/json.ts';
import {
  BUILD_MS,
  buildStandIns,
  COMMAND_MS,
  cache,
  ensureEngine,
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

// Installs the chart of deploy/helm on a Kubernetes node of its own (Debian, root), and upgrades and rolls it back.
//   npm run test:kubernetes                  builds the images with the machine's Docker, or one started by engine.sh
//   npm run test:kubernetes -- --stand-ins   for machines without access to an image registry; see stand-ins.sh
//   … --keep                                 leaves the node and the engine running
//   … --images                               uses images of an earlier run, also for a node left by --keep

const HELM = 'helm.sh/helm/v3/cmd/helm@v3.19.2';
const KEDA = 'github.com/kedacore/keda/v2@v2.18.3';
const CHART = join(root, 'deploy/helm/utility-tools');
const FILES = join(here, 'kubernetes');
const NODE = join(cache, 'kubernetes');
const RELEASE = 'tools';
const NAMESPACE = 'tools';
const NAME = `${RELEASE}-utility-tools`;
/** Milliseconds within which all pods must be ready; an idle machine takes two minutes. */
const READY_MS = 20 * 60_000;
/** Number of concurrent callers during an upgrade. */
const CALLERS = 4;

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
const helm = (args: readonly string[], timeoutMs?: number) =>
  run(join(NODE, 'bin/helm'), ['--namespace', NAMESPACE, ...args], root, timeoutMs);
const cluster = (command: string) => [join(FILES, 'cluster.sh'), command, NODE];

async function componentsOf(): Promise<string[]> {
  return Object.keys(recordAt(parse(await readFile(join(CHART, 'values.yaml'), 'utf8')), 'components'));
}

/** Returns the images that the manifests of MongoDB and Temporal name. */
async function serverImages(): Promise<string[]> {
  const manifests = await readFile(join(FILES, 'servers.yaml'), 'utf8');
  return [...manifests.matchAll(/image: (\S+)/g)].map(([, image = '']) => image);
}

/** Builds the images of the chart as two releases of the same code and loads them into the node. */
async function provideImages(components: readonly string[]): Promise<void> {
  const stop = await ensureEngine();
  try {
    if (flags['stand-ins']) await buildStandIns();
    const images = ['localhost/pause:1', ...(await serverImages())];
    const pause = 'FROM debian:bookworm-slim\nCMD ["sleep", "infinity"]\n';
    const folder = await mkdtemp(join(tmpdir(), 'utility-tools-pause-'));
    await writeFile(join(folder, 'Dockerfile'), pause);
    await run('docker', ['build', '--tag', 'localhost/pause:1', folder], root, BUILD_MS);
    await rm(folder, { recursive: true });
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

async function ensureHelm(): Promise<void> {
  const built = await access(join(NODE, 'bin/helm')).then(
    () => true,
    () => false,
  );
  if (built) return;
  env.GOBIN = join(NODE, 'bin');
  await run('go', ['install', '-ldflags=-s -w', HELM], root, BUILD_MS);
}

/** Defines KEDA's custom resources, without running KEDA. */
async function defineKedaObjects(): Promise<void> {
  const { Dir: folder } = recordAt(
    JSON.parse(await run('go', ['mod', 'download', '-json', KEDA], root, BUILD_MS)),
  );
  const kinds = ['scaledobjects', 'triggerauthentications'];
  const files = kinds.flatMap((kind) => ['--filename', `${folder}/config/crd/bases/keda.sh_${kind}.yaml`]);
  // Applied on the server, because the definitions are too long for the annotation that a client-side apply adds.
  await kubectl(['apply', '--server-side', ...files]);
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

/** Makes one call. @returns null if it succeeded, else what failed */
async function call({ url, key }: Caller, text: string): Promise<string | null> {
  try {
    const { statusCode, body } = await request(`${url}/api/v1/tools/hash-text`, {
      method: 'POST',
      // Uses a new connection for each call, as many separate clients would.
      reset: true,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text }),
      headersTimeout: COMMAND_MS,
      signal,
    });
    const answer = await body.text();
    return statusCode === 200 ? null : `${statusCode} ${answer}`;
  } catch (error) {
    return String(error);
  }
}

/** Makes calls until `work` has ended. @throws when a call fails */
async function underLoad(caller: Caller, work: () => Promise<unknown>): Promise<void> {
  let isOver = false;
  let succeeded = 0;
  const failed: string[] = [];
  const callers = Array.from({ length: CALLERS }, async (_, number) => {
    for (let turn = 0; !isOver; turn++) {
      const problem = await call(caller, `${number}-${turn}`);
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
  assert.ok(succeeded > CALLERS);
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
  // cluster.sh runs names.ts with the same Node.js as this process.
  env.PATH = `${dirname(process.execPath)}:${env.PATH}`;
  env.KUBECONFIG = (await run('bash', cluster('up'), root, BUILD_MS)).trim();
  await ensureHelm();
  if (!flags.images) await provideImages(components);

  const values = ['--values', join(FILES, 'values.yaml')];
  const release = (tag: string) => [RELEASE, CHART, ...values, '--set-string', `image.tag=${tag}`];
  const wait = ['--wait', '--timeout', `${READY_MS / 1000}s`];

  await step('helm lint reports no fault', () => helm(['lint', CHART, ...values]));
  await step('the API server accepts every object with every option', async () => {
    await defineKedaObjects();
    const options = ['autoscaling', 'ingress', 'keda'].map((name) => `${name}.enabled=true`);
    const all = [...options, 'sandbox.unmaskedProc=true'].flatMap((option) => ['--set', option]);
    await kubectl(['create', 'namespace', NAMESPACE]);
    const manifests = await helm(['template', ...release('1'), ...all, '--kube-version', '1.34.0']);
    await writeFile(join(NODE, 'all.yaml'), manifests);
    await inTools(['apply', '--dry-run=server', '--filename', join(NODE, 'all.yaml')]);
  });
  await step('MongoDB and Temporal start', async () => {
    await kubectl(['create', 'namespace', 'servers']);
    await kubectl(['--namespace', 'servers', 'apply', '--filename', join(FILES, 'servers.yaml')]);
    const available = ['wait', '--for=condition=Available', 'deployment', '--all', '--timeout=1200s'];
    await kubectl(['--namespace', 'servers', ...available], READY_MS);
  });
  await step('helm install: every pod becomes ready', async () => {
    const secrets = {
      master_keys: `test:${randomBytes(32).toString('base64')}`,
      mongodb_uri: 'mongodb://mongodb.servers:27017/utility_tools?replicaSet=rs0',
    };
    const literals = Object.entries(secrets).map(([name, value]) => `--from-literal=${name}=${value}`);
    await inTools(['create', 'secret', 'generic', 'utility-tools', ...literals]);
    await helm(['install', ...release('1'), ...wait], READY_MS);
  });
  if (hasFailed()) return;

  await step('only browser and heavy need more than the Pod Security level "restricted" allows', async () => {
    const [first = '', ...others] = await violations();
    assert.match(first, /^tools-utility-tools-(?:browser|heavy)-\S+ \(and 1 other pod\): seccompProfile$/);
    assert.deepEqual(others, []);
  });
  await step('helm test is green, and again with its account', async () => {
    await helm(['test', RELEASE, '--timeout', '300s'], READY_MS);
    await helm(['test', RELEASE, '--timeout', '300s'], READY_MS);
  });
  const caller = await signUp();
  await step('a call is answered through the Service', async () => {
    assert.equal(await call(caller, 'abc'), null);
    assert.equal(await currentBuild(), '1');
  });
  await step('helm upgrade under load: no call fails, and new calls run on the new build', async () => {
    await underLoad(caller, () => helm(['upgrade', ...release('2'), ...wait], READY_MS));
    assert.equal(await currentBuild(), '2');
  });
  await step('helm rollback under load: no call fails, and new calls run on the old build', async () => {
    await underLoad(caller, () => helm(['rollback', RELEASE, ...wait], READY_MS));
    assert.equal(await currentBuild(), '1');
  });
  await step('helm test is green after the rollback', () =>
    helm(['test', RELEASE, '--timeout', '300s'], READY_MS),
  );
  if (hasFailed()) console.log(await inTools(['get', 'pods,events']));
}

await runTest(main);
