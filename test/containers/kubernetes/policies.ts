import assert from 'node:assert/strict';
import { POOL_TABLE, POOLS, type Pool } from '../../../schemas/pools.ts';
import { loadRegistry, poolsWithSecrets } from '../../../schemas/registry.ts';
import { recordAt, recordsAt } from '../../helpers/json.ts';
import { root, run } from '../harness.ts';
import { type Attempt, isReached, readProbe } from '../probe.ts';

const DNS = ['DNS', 'DNS over TCP'];
const SERVERS = [...DNS, 'mongodb:27017', 'temporal:7233'];
const GATEWAY = ['gateway:3128', 'gateway:7233'];
const API = ['api:8080', 'api:9090'];
const INTERNET = 'the Internet';
/** Has an address of the private ranges, as the node. */
const KUBERNETES = 'the API server of Kubernetes';

const vaultReaders = poolsWithSecrets(await loadRegistry());

function allowedTo(pool: Pool): readonly string[] {
  if (POOL_TABLE[pool].confined) return GATEWAY;
  return [...SERVERS, INTERNET, ...(vaultReaders.includes(pool) ? API : [])];
}

/** The servers that the network policies of the chart allow the pods of each component to reach. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  api: [...SERVERS, INTERNET],
  orchestrator: SERVERS,
  delivery: [...SERVERS, INTERNET],
  ...Object.fromEntries(POOLS.map((pool) => [pool, allowedTo(pool)])),
  gateway: [...SERVERS, INTERNET],
  backup: [...DNS, 'mongodb:27017'],
  test: [...SERVERS, ...API],
};
/** The servers that accept connections from pods outside the chart. The policies do not limit what such pods connect to. */
const OPEN = [...SERVERS, INTERNET, KUBERNETES, 'api:8080'];

type Kubectl = (args: readonly string[]) => Promise<string>;

interface Cluster {
  kubectl: Kubectl;
  /** Components of the chart that have a Deployment. */
  components: readonly string[];
  /** Namespaces of the release, and of MongoDB and Temporal. */
  namespaces: { release: string; servers: string };
  /** Labels that all pods of the release have, such as `a=b,c=d`. */
  labels: string;
  /** A server with a public address. */
  internet: { host: string; port: number };
  /** Where the API server of Kubernetes listens. */
  kubernetes: { host: string; port: number };
}

interface Pod {
  namespace: string;
  name: string;
  ip: string;
}

/** Returns a running pod that has these labels. */
async function findPod(kubectl: Kubectl, namespace: string, labels: string): Promise<Pod> {
  const get = ['--namespace', namespace, 'get', 'pods', '--selector', labels, '--output', 'json'];
  const pod = recordsAt(recordAt(JSON.parse(await kubectl(get))).items).find(
    ({ metadata, status }) =>
      recordAt(metadata).deletionTimestamp === undefined && recordAt(status).phase === 'Running',
  );
  const { metadata, status } = recordAt(pod);
  return { namespace, name: String(recordAt(metadata).name), ip: String(recordAt(status).podIP) };
}

/** Starts a pod that does nothing until it is deleted. */
async function createPod(kubectl: Kubectl, namespace: string, name: string, labels: string): Promise<Pod> {
  const inNamespace = ['--namespace', namespace];
  const image = ['--image=utility-tools-network:1', '--image-pull-policy=Never', `--labels=${labels}`];
  await kubectl([...inNamespace, 'run', name, ...image, '--command', '--', 'sleep', 'infinity']);
  await kubectl([...inNamespace, 'wait', '--for=condition=Ready', `pod/${name}`, '--timeout=110s']);
  return await findPod(kubectl, namespace, labels);
}

/**
 * Tries to connect from every component of the chart, from two pods outside it, and from the node, to every port of the
 * release, to the servers, to the Internet and to the API server of Kubernetes.
 *
 * @throws AssertionError unless exactly the connections succeed that the network policies allow
 */
export async function checkPolicies(cluster: Cluster): Promise<void> {
  const { kubectl, components, namespaces } = cluster;
  const labelsOf = (component: string) => `${cluster.labels},app.kubernetes.io/component=${component}`;
  await using owned = new AsyncDisposableStack();
  const start = async (namespace: string, name: string, labels: string) => {
    owned.defer(async () => {
      const pod = ['delete', 'pod', name, '--ignore-not-found', '--grace-period=1', '--timeout=60s'];
      await kubectl(['--namespace', namespace, ...pod]);
    });
    return await createPod(kubectl, namespace, name, labels);
  };
  const pods: Record<string, Pod> = {
    stranger: await start(namespaces.servers, 'stranger', 'app=stranger'),
    prometheus: await start(namespaces.servers, 'prometheus', 'app=prometheus'),
    // These components run for the time of a job only.
    backup: await start(namespaces.release, 'backup', labelsOf('backup')),
    test: await start(namespaces.release, 'test', labelsOf('test')),
  };
  for (const component of components)
    pods[component] = await findPod(kubectl, namespaces.release, labelsOf(component));

  const tcp = (host: string, port: number): Attempt => ({ kind: 'tcp', host, port });
  const addressOf = (component: string) => pods[component]?.ip ?? assert.fail(`no pod of ${component}`);
  const dns = (await findPod(kubectl, 'kube-system', 'k8s-app=kube-dns')).ip;
  const attempts: Record<string, Attempt> = {
    DNS: { kind: 'dns', host: dns, name: 'kubernetes.default.svc.cluster.local' },
    'DNS over TCP': tcp(dns, 53),
    'mongodb:27017': tcp((await findPod(kubectl, namespaces.servers, 'app=mongodb')).ip, 27017),
    'temporal:7233': tcp((await findPod(kubectl, namespaces.servers, 'app=temporal')).ip, 7233),
    [INTERNET]: tcp(cluster.internet.host, cluster.internet.port),
    [KUBERNETES]: tcp(cluster.kubernetes.host, cluster.kubernetes.port),
    'api:8080': tcp(addressOf('api'), 8080),
    'gateway:3128': tcp(addressOf('gateway'), 3128),
    'gateway:7233': tcp(addressOf('gateway'), 7233),
    ...Object.fromEntries(components.map((name) => [`${name}:9090`, tcp(addressOf(name), 9090)])),
  };
  const names = Object.keys(attempts);
  const probe = [
    'node',
    '--input-type=module',
    '-e',
    await readProbe(),
    JSON.stringify(Object.values(attempts)),
  ];
  // A pod reaches itself whatever the policies say, so its own ports are left out.
  const reached = (pod: string, output: string) => {
    const outcomes: string[] = JSON.parse(output);
    return names
      .filter((name, index) => isReached(outcomes[index]) && !name.startsWith(`${pod}:`))
      .toSorted();
  };

  const results = Object.entries(pods).map(async ([pod, { namespace, name }]) => {
    const output = await kubectl(['--namespace', namespace, 'exec', name, '--', ...probe]);
    return [pod, reached(pod, output)] as const;
  });
  const actual = Object.fromEntries(await Promise.all(results));
  // The policies do not limit the node, from which the kubelet checks the pods. This also shows that every port is open.
  const [node = '', ...args] = probe;
  actual.node = reached('node', await run(node, args, root));

  const internal = components.map((component) => `${component}:9090`);
  const expected = {
    ...ALLOWED,
    stranger: OPEN,
    prometheus: [...OPEN, ...internal],
    node: names,
  };
  assert.deepEqual(
    actual,
    Object.fromEntries(Object.entries(expected).map(([pod, list]) => [pod, list.toSorted()])),
  );
}
