import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Client, Connection, isGrpcServiceError } from '@temporalio/client';
import test from 'ava';
import sharp from 'sharp';
import { machineEnv } from '../../dev/host.mjs';
import { freePort } from '../../dev/ports.ts';
import type { Lane } from '../../schemas/pools.ts';
import { INLINE_BYTES } from '../../store/calls/results.ts';
import { type Issued, issue } from '../../workers/certificates/issue.ts';
import { toolQueue } from '../../workflows/contract.ts';
import { makeAccount, withStore } from '../helpers/account.ts';
import { filesOf } from '../helpers/files.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { listenAsTarget, type Stack, startStack } from '../helpers/stack.ts';

/** Milliseconds within which a process must be ready on a loaded machine. */
const READY_MS = 120_000;
/** gRPC status code. */
const FORBIDDEN = 7;
/** Name in the certificates of the tests, which differs from that of the address. */
const NAME = 'gateway';

let stack: Stack;
let ports: { targets: number; temporal: number };
let folder: string;
const owned = new AsyncDisposableStack();

/** Starts a process of the service and waits until it is ready. It is killed after the tests. */
async function start(args: readonly string[], env: Record<string, string>): Promise<void> {
  const child: ChildProcess = spawn(process.execPath, args, {
    env: { ...machineEnv(), ...stack.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  let output = '';
  child.stdout?.on('data', (chunk) => {
    output += String(chunk);
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  owned.defer(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${args.join(' ')} is not ready: ${output}`)), READY_MS);
    child.once('message', () => resolve(clearTimeout(timer)));
    child.once('exit', () => reject(new Error(`${args.join(' ')} ended: ${output}`)));
  });
}

async function save(name: string, { cert, key }: Issued, ca: Issued): Promise<string> {
  const path = join(folder, name);
  await mkdir(path);
  await writeFile(join(path, 'tls.crt'), cert);
  await writeFile(join(path, 'tls.key'), key);
  await writeFile(join(path, 'ca.crt'), ca.cert);
  return path;
}

test.before(async () => {
  stack = owned.adopt(
    await startStack({ pools: ['orchestrator'], env: { EGRESS_ALLOW: '127.77.0.1/32' } }),
    (it) => it.stop(),
  );
  folder = stack.dataDir;
  ports = { targets: await freePort(), temporal: await freePort() };
  const ca = await issue({ name: 'gateway CA', days: 1, issuer: null });
  const leaf = (name: string) => issue({ name, dnsNames: [NAME], days: 1, issuer: ca });
  const gateway = await save('gateway', await leaf('gateway'), ca);
  for (const pool of ['heavy', 'browser', 'stranger']) await save(pool, await leaf(pool), ca);
  const other = await issue({ name: 'other CA', days: 1, issuer: null });
  await save('other', await issue({ name: 'heavy', days: 1, issuer: other }), ca);
  await start(['workers/gateway/main.ts'], {
    GATEWAY_PORT: `${ports.targets}`,
    GATEWAY_TEMPORAL_PORT: `${ports.temporal}`,
    GATEWAY_CERTIFICATES: gateway,
    MASTER_KEYS: '',
  });
  await start(['workers/main.ts', '--pool', 'heavy'], {
    MONGODB_URI: '',
    GATEWAY_URL: `http://127.0.0.1:${ports.targets}`,
    TEMPORAL_ADDRESS: `localhost:${ports.temporal}`,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(folder, 'heavy/ca.crt'),
    TEMPORAL_TLS_CLIENT_CERT_PATH: join(folder, 'heavy/tls.crt'),
    TEMPORAL_TLS_CLIENT_KEY_PATH: join(folder, 'heavy/tls.key'),
    TEMPORAL_TLS_SERVER_NAME: NAME,
    // No resolver answers: the worker must not resolve names itself.
    DNS_SERVERS: '127.0.0.1:9',
  });
});
test.after.always(() => owned.disposeAsync());

/** Connects to Temporal through a gateway with the certificate of this folder. */
async function connectAs(name: string, port = ports.temporal, serverName = NAME): Promise<Connection> {
  const read = (file: string) => readFile(join(folder, name, file));
  return Connection.connect({
    address: `localhost:${port}`,
    tls: {
      serverNameOverride: serverName,
      serverRootCACertificate: await read('ca.crt'),
      clientCertPair: { crt: await read('tls.crt'), key: await read('tls.key') },
    },
    connectTimeout: 10_000,
    interceptors: [],
  });
}

/** Returns the gRPC status of a request, 0 for success. */
async function statusOf(request: Promise<unknown>): Promise<number> {
  try {
    await request;
    return 0;
  } catch (error) {
    // The SDK's clients of workflows wrap the error of the request.
    const cause = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : error;
    if (isGrpcServiceError(cause)) return cause.code;
    throw error;
  }
}

test('a worker without MongoDB and network runs calls, downloads their files and stores large results', async (t) => {
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  const image = await sharp({ create: { width: 220, height: 160, channels: 3, background: '#000', noise } })
    .png()
    .toBuffer();
  const target = createServer((_, response) => response.setHeader('Content-Type', 'image/png').end(image));
  const host = await listenAsTarget(target);
  t.teardown(() => {
    target.close();
    target.closeAllConnections();
  });
  const account = await makeAccount(stack, 1000);
  const response = await account.call('image-upscale', { fileUrl: `http://${host}/a.png`, factor: 2 });
  const text = await response.text();
  t.is(response.status, 200, text.slice(0, 500));
  const { fileBase64 }: { fileBase64: string } = JSON.parse(text);
  t.is((await sharp(Buffer.from(fileBase64, 'base64')).metadata()).width, 440);
  t.true(text.length > INLINE_BYTES);
  t.true((await withStore(stack, ({ results }) => results.countDocuments())) > 0);

  // The input of a job is stored, and so is that of a call above 64 KB.
  const jobs = jobsOf(account, stack.baseUrl);
  const input = { fileUrl: `http://${host}/a.png`, factor: 2 };
  const { id } = await jobs.create({ tool: 'image-upscale', input });
  t.like(await jobs.ended(id), { state: 'succeeded', code: null });
  t.is(JSON.parse(await (await jobs.result(id)).text()).fileBase64, fileBase64);

  // The worker reads the pieces of an uploaded file through the gateway, too.
  const { id: fileUrl } = await filesOf(account, stack.baseUrl).create(image, 'a.png');
  const uploaded = await account.call('image-upscale', { fileUrl, factor: 2 });
  t.is(JSON.parse(await uploaded.text()).fileBase64, fileBase64);

  const refused = await account.call('image-upscale', { fileUrl: `http://127.0.0.1:${ports.targets}/a.png` });
  t.is(refused.status, 422);
});

test('a worker may take tasks from its own queue, and nothing else at Temporal', async (t) => {
  const { namespace } = stack;
  const taskQueue = (name: string) => ({ name, kind: 1 });
  const poll = (connection: Connection, pool: 'heavy' | 'browser', lane: Lane = 'first') =>
    connection.withDeadline(Date.now() + 5000, () =>
      connection.workflowService.pollActivityTaskQueue({
        namespace,
        taskQueue: taskQueue(toolQueue(pool, lane)),
      }),
    );
  const requests: Record<string, (connection: Connection) => Promise<unknown>> = {
    'poll the queue of another pool': (it) => poll(it, 'heavy'),
    'poll a lane of another pool': (it) => poll(it, 'heavy', 'further'),
    'poll a lane that its pool does not have': (it) => poll(it, 'browser', 'fast'),
    'poll workflow tasks': (it) =>
      it.withDeadline(Date.now() + 5000, () =>
        it.workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: taskQueue('orchestrator') }),
      ),
    'list workflows': (it) => it.workflowService.listWorkflowExecutions({ namespace }),
    'read a history': (it) =>
      it.workflowService.getWorkflowExecutionHistory({ namespace, execution: { workflowId: 'sweep' } }),
    'start a workflow': (it) =>
      new Client({ connection: it, namespace }).workflow.start('sweep', {
        taskQueue: 'none',
        workflowId: 'x',
      }),
    'terminate a workflow': (it) =>
      new Client({ connection: it, namespace }).workflow.getHandle('sweep').terminate(),
    'list namespaces': (it) => it.workflowService.listNamespaces({}),
    'list search attributes': (it) => it.operatorService.listSearchAttributes({ namespace }),
    'answer a task that it did not receive': (it) =>
      it.workflowService.respondActivityTaskCompleted({ namespace, taskToken: Buffer.alloc(80, 1) }),
    'describe another namespace': (it) =>
      it.workflowService.describeNamespace({ namespace: 'temporal-system' }),
  };
  const connection = await connectAs('browser');
  try {
    for (const [name, request] of Object.entries(requests)) {
      t.is(await statusOf(request(connection)), FORBIDDEN, name);
    }
    // Control: its own queue and namespace are served. The poll ends at its deadline, because no task comes.
    t.is(await statusOf(connection.workflowService.describeNamespace({ namespace })), 0);
    t.not(await statusOf(poll(connection, 'browser')), FORBIDDEN);
  } finally {
    await connection.close();
  }
  for (const name of ['other', 'stranger']) {
    const refused = await connectAs(name).then(
      (it) => it.close().then(() => false),
      () => true,
    );
    t.true(refused, `the certificate of ${name}`);
  }
  // Control: Temporal itself serves the refused requests.
  const direct = await Connection.connect({ address: stack.temporalAddress });
  try {
    t.is(await statusOf(direct.workflowService.listWorkflowExecutions({ namespace })), 0);
    t.is(await statusOf(direct.workflowService.listNamespaces({})), 0);
  } finally {
    await direct.close();
  }
});

test('a gateway connects to a Temporal server with the certificate and the server name of its settings', async (t) => {
  // The other gateway takes the place of a Temporal server that requires certificates.
  const port = await freePort();
  await start(['workers/gateway/main.ts'], {
    GATEWAY_PORT: `${await freePort()}`,
    GATEWAY_TEMPORAL_PORT: `${port}`,
    GATEWAY_CERTIFICATES: join(folder, 'gateway'),
    MASTER_KEYS: '',
    TEMPORAL_ADDRESS: `localhost:${ports.temporal}`,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(folder, 'browser/ca.crt'),
    TEMPORAL_TLS_CLIENT_CERT_PATH: join(folder, 'browser/tls.crt'),
    TEMPORAL_TLS_CLIENT_KEY_PATH: join(folder, 'browser/tls.key'),
    TEMPORAL_TLS_SERVER_NAME: NAME,
  });
  const connection = await connectAs('browser', port);
  try {
    const { namespace } = stack;
    t.is(await statusOf(connection.workflowService.describeNamespace({ namespace })), 0);
  } finally {
    await connection.close();
  }
  await t.throwsAsync(connectAs('browser', port, 'localhost'));
});
