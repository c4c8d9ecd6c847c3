import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'ava';
import { parse, parseAllDocuments } from 'yaml';
import { machineEnv } from '../../dev/host.mjs';
import { CONFINED_POOLS, lanesOf, POOLS } from '../../schemas/pools.ts';
import { loadRegistry, poolsWithSecrets } from '../../schemas/registry.ts';
import { toolQueue } from '../../workflows/contract.ts';
import { isRecord, type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { helm as helmProgram } from '../provision/items/helm.ts';

// What Helm makes of the chart, compared with docker-compose.yml.

const CHART = 'deploy/helm/utility-tools';
const BUILD_MS = 30 * 60_000;
const MINIMAL = [
  'publicUrl=https://tools.example.com',
  'temporal.address=temporal.example.com:7233',
  'backup.claim=backups',
];
const TLS = [
  'temporal.tls.clientSecret=temporal-client',
  'temporal.tls.serverCa.name=temporal-ca',
  'temporal.tls.serverName=frontend.temporal',
];
const CONFINED: readonly string[] = CONFINED_POOLS;
const VAULT_READERS: readonly string[] = poolsWithSecrets(await loadRegistry());

const readYaml = (path: string) => recordAt(parse(readFileSync(path, 'utf8'), { merge: true }));
const compose = recordAt(readYaml('docker-compose.yml'), 'services');
let helm: string;

test.before(async (t) => {
  t.timeout(BUILD_MS);
  helm = await helmProgram.get((line) => t.log(line));
});

/** Runs a command of Helm with the values of a minimal installation and these. */
function run(command: readonly string[], ...set: string[]) {
  const values = [...MINIMAL, ...set].flatMap((value) => ['--set', value]);
  return spawnSync(helm, [...command, CHART, ...values], { encoding: 'utf8', env: machineEnv() });
}

const TEMPLATE = ['template', 'tools', '--kube-version', '1.34.0'];

/** Renders the chart with the values of a minimal installation and these. @returns its objects */
function render(...set: string[]): Json[] {
  const { status, stdout, stderr } = run(TEMPLATE, ...set);
  if (status !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout)
    .map((document): unknown => document.toJS())
    .filter(isRecord);
}

const ofKind = (objects: readonly Json[], kind: string): Json[] => objects.filter((it) => it.kind === kind);
const componentOf = (object: unknown): string =>
  String(recordAt(object, 'metadata', 'labels')['app.kubernetes.io/component']);
const podOf = (object: Json): Json =>
  object.kind === 'CronJob'
    ? recordAt(object, 'spec', 'jobTemplate', 'spec', 'template')
    : recordAt(object, 'spec', 'template');
/** Templates of the pods of all components, also those of the backup and of `helm test`. */
const pods = (objects: readonly Json[]): [component: string, pod: Json][] =>
  ['Deployment', 'CronJob', 'Job'].flatMap((kind) =>
    ofKind(objects, kind).map((object): [string, Json] => [componentOf(object), podOf(object)]),
  );
const container = (pod: Json): Json => recordsAt(recordAt(pod, 'spec').containers)[0] ?? {};
const environment = (pod: Json): Map<unknown, unknown> =>
  new Map(recordsAt(container(pod).env).map(({ name, value }) => [name, value]));

/** Returns the mounted keys of secrets, `<secret>/<key>`, by the folder in which they appear. */
function mountedSecrets(pod: Json): Map<unknown, string[]> {
  const volumes = recordsAt(recordAt(pod, 'spec').volumes);
  const mounts = recordsAt(container(pod).volumeMounts).map(({ name, mountPath }): [unknown, string[]] => {
    const volume = volumes.find((it) => it.name === name);
    const { secret, projected } = volume ?? {};
    const sources = [secret, ...recordsAt(recordAt(projected).sources).map((source) => source.secret)];
    return [
      mountPath,
      sources.filter(isRecord).flatMap((source) => {
        const items = recordsAt(source.items);
        const from = String(source.secretName ?? source.name);
        return items.length === 0 ? [`${from}/*`] : items.map(({ key }) => `${from}/${key}`);
      }),
    ];
  });
  return new Map(mounts.filter(([, keys]) => keys.length > 0));
}

/** Networks of a service in Compose. */
function networksOf(service: string): string[] {
  const { networks } = recordAt(compose, service);
  return Array.isArray(networks) ? networks.map(String) : Object.keys(recordAt(networks));
}

/** Whether the selector of a policy selects the pods of a component. */
function selects(selector: Json, component: string): boolean {
  const label = recordAt(selector, 'matchLabels')['app.kubernetes.io/component'];
  if (label !== undefined && label !== component) return false;
  return recordsAt(selector.matchExpressions).every(({ operator, values }) => {
    const isListed = Array.isArray(values) && values.includes(component);
    return operator === 'In' ? isListed : !isListed;
  });
}

/** Names a peer of a rule: a component, the cluster's DNS, or the public addresses. */
function peerName(peer: Json): string {
  if (isRecord(peer.ipBlock)) return 'public';
  if (isRecord(peer.namespaceSelector)) return 'dns';
  return String(recordAt(peer, 'podSelector', 'matchLabels')['app.kubernetes.io/component']);
}

/** Returns the connections that the network policies allow a component in one direction, each as `<peer> <port>`. */
function allowed(objects: readonly Json[], component: string, direction: 'ingress' | 'egress'): string[] {
  const rules = ofKind(objects, 'NetworkPolicy')
    .map((policy) => recordAt(policy, 'spec'))
    .filter((spec) => selects(recordAt(spec, 'podSelector'), component))
    .flatMap((spec) => recordsAt(spec[direction]));
  const found = rules.flatMap((rule) => {
    const peers = recordsAt(direction === 'egress' ? rule.to : rule.from).map(peerName);
    const ports = recordsAt(rule.ports).map(({ port }) => String(port));
    return (peers.length === 0 ? ['any'] : peers).flatMap((peer) =>
      (ports.length === 0 ? ['any'] : ports).map((port) => `${peer} ${port}`),
    );
  });
  return [...new Set(found)].sort();
}

test('helm lint reports no fault', (t) => {
  const { status, stdout } = run(['lint'], ...TLS);
  t.is(status, 0, stdout);
});

test('policies deny everything except what the networks of Compose allow', (t) => {
  const objects = render();
  const components = pods(objects).map(([component]) => component);
  const denials = ofKind(objects, 'NetworkPolicy')
    .map((policy) => recordAt(policy, 'spec'))
    .filter(({ ingress, egress }) => ingress === undefined && egress === undefined);
  t.is(denials.length, 1);
  t.deepEqual(denials[0]?.policyTypes, ['Ingress', 'Egress']);
  t.true(components.every((component) => selects(recordAt(denials[0], 'podSelector'), component)));
  t.true(components.length >= 10);
  for (const component of components.filter((name) => name !== 'test')) {
    const networks = networksOf(component);
    const isInside = networks.includes('services');
    const temporal = isInside && component !== 'backup';
    const expected = [
      ...(isInside ? ['dns 53', 'any 27017'] : []),
      ...(temporal ? ['any 7233'] : []),
      ...(networks.some((name) => name.startsWith('outside')) ? ['public any'] : []),
      ...(VAULT_READERS.includes(component) ? ['api http', 'api internal'] : []),
      ...(CONFINED.includes(component) ? ['gateway targets', 'gateway temporal'] : []),
    ];
    t.deepEqual(allowed(objects, component, 'egress'), expected.sort(), component);
  }
  const entrances: Record<string, string[]> = {
    api: ['any http', ...VAULT_READERS.map((pool) => `${pool} internal`), 'test internal'].sort(),
    gateway: CONFINED.flatMap((pool) => [`${pool} targets`, `${pool} temporal`]).sort(),
  };
  for (const component of components)
    t.deepEqual(allowed(objects, component, 'ingress'), entrances[component] ?? [], component);
});

test('confined pools resolve no names, and find the gateway by the variables of its Service', (t) => {
  const objects = render();
  const service = ofKind(objects, 'Service').find((it) => componentOf(it) === 'gateway');
  const name = String(recordAt(service, 'metadata').name);
  // As Kubernetes names the variable: https://kubernetes.io/docs/tutorials/services/connect-applications-service/
  const host = `$(${name.toUpperCase().replaceAll('-', '_')}_SERVICE_HOST)`;
  for (const [component, pod] of pods(objects)) {
    const isConfined = CONFINED.includes(component);
    const { dnsPolicy, dnsConfig, enableServiceLinks } = recordAt(pod, 'spec');
    t.is(enableServiceLinks, isConfined, component);
    t.is(dnsPolicy, isConfined ? 'None' : undefined, component);
    const env = environment(pod);
    t.is(env.get('GATEWAY_URL'), isConfined ? `http://${host}:3128` : undefined, component);
    if (!isConfined) continue;
    t.deepEqual(dnsConfig, { nameservers: ['127.0.0.1'] }, component);
    t.is(env.get('TEMPORAL_ADDRESS'), `${host}:7233`, component);
    t.is(env.get('TEMPORAL_TLS_SERVER_NAME'), 'gateway', component);
    t.is(env.get('MONGODB_URI_FILE'), undefined, component);
  }
});

test('every pod has the secrets that its service has in Compose, and no others', (t) => {
  const optional = ['otlpHeaders', 'smtpUrl', 'stripeSecretKey', 'stripeWebhookSecret'];
  const objects = render(...optional.map((name) => `secrets.${name}.name=utility-tools`));
  for (const [component, pod] of pods(objects)) {
    // The pod of `helm test` runs the operator commands of the API, which need no more than any worker has.
    const { secrets } = recordAt(compose, component === 'test' ? 'orchestrator' : component);
    const expected = component === 'backup' ? ['mongodb_backup_uri'] : secrets;
    t.true(Array.isArray(expected));
    const keys = mountedSecrets(pod).get('/run/secrets') ?? [];
    t.deepEqual(
      keys.sort(),
      [expected]
        .flat()
        .map((key) => `utility-tools/${key}`)
        .sort(),
      component,
    );
  }
});

test('all that talk to Temporal present a certificate and check that of the server', (t) => {
  const client = ['temporal-client/tls.crt', 'temporal-client/tls.key', 'temporal-ca/ca.crt'];
  const paths = {
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/certificates/ca.crt',
    TEMPORAL_TLS_CLIENT_CERT_PATH: '/certificates/tls.crt',
    TEMPORAL_TLS_CLIENT_KEY_PATH: '/certificates/tls.key',
  };
  const objects = render(...TLS);
  for (const [component, pod] of pods(objects)) {
    const mounted = mountedSecrets(pod);
    if (component === 'backup') {
      t.is(mounted.get('/certificates'), undefined);
      continue;
    }
    const env = environment(pod);
    for (const [name, path] of Object.entries(paths)) t.is(env.get(name), path, `${component}: ${name}`);
    const isConfined = CONFINED.includes(component);
    t.is(env.get('TEMPORAL_TLS_SERVER_NAME'), isConfined ? 'gateway' : 'frontend.temporal', component);
    t.deepEqual(
      mounted.get('/certificates'),
      isConfined ? [`utility-tools-${component}/*`] : client,
      component,
    );
    t.deepEqual(
      mounted.get('/gateway'),
      component === 'gateway' ? ['utility-tools-gateway/*'] : undefined,
      component,
    );
  }
  // Without these values, only the workers behind the gateway use certificates.
  for (const [component, pod] of pods(render()))
    t.is(environment(pod).has('TEMPORAL_TLS_CLIENT_CERT_PATH'), CONFINED.includes(component), component);
});

test('KEDA reads the queues with the same certificates, and is refused where it would connect without TLS', (t) => {
  const objects = render('keda.enabled=true', ...TLS);
  const [authentication] = ofKind(objects, 'TriggerAuthentication');
  t.deepEqual(
    recordsAt(recordAt(authentication, 'spec').secretTargetRef).map(
      ({ parameter, name, key }) => `${parameter} ${name}/${key}`,
    ),
    ['cert temporal-client/tls.crt', 'key temporal-client/tls.key', 'ca temporal-ca/ca.crt'],
  );
  const scaled = ofKind(objects, 'ScaledObject');
  t.is(scaled.length, POOLS.length + 1);
  const triggers = scaled.flatMap((object) => recordsAt(recordAt(object, 'spec').triggers));
  t.deepEqual(
    triggers.map((trigger) => recordAt(trigger, 'metadata').taskQueue).sort(),
    ['delivery', ...POOLS.flatMap((pool) => lanesOf(pool).map((lane) => toolQueue(pool, lane)))].sort(),
  );
  for (const trigger of triggers) {
    t.is(recordAt(trigger, 'authenticationRef').name, recordAt(authentication, 'metadata').name);
    t.is(recordAt(trigger, 'metadata').tlsServerName, 'frontend.temporal');
  }
  const { status, stderr } = run(TEMPLATE, 'keda.enabled=true', 'temporal.tls.serverCa.name=temporal-ca');
  t.not(status, 0);
  t.regex(stderr, /temporal\.tls\.clientSecret/);
});

test('the backup runs every day without capabilities, and one at a time', (t) => {
  const [backup, ...others] = ofKind(render(), 'CronJob');
  t.deepEqual(others, []);
  const { schedule, concurrencyPolicy } = recordAt(backup, 'spec');
  t.regex(String(schedule), /^\d+ \d+ \* \* \*$/);
  t.is(concurrencyPolicy, 'Forbid');
  const pod = podOf(backup ?? {});
  t.is(recordAt(pod, 'spec', 'securityContext').runAsNonRoot, true);
  t.deepEqual(recordAt(container(pod), 'securityContext', 'capabilities').drop, ['ALL']);
  const volumes = recordsAt(recordAt(pod, 'spec').volumes);
  const claims = volumes.filter((volume) => isRecord(volume.persistentVolumeClaim));
  t.deepEqual(
    claims.map((volume) => recordAt(volume, 'persistentVolumeClaim').claimName),
    ['backups'],
  );
  const [script] = ofKind(render(), 'ConfigMap');
  t.is(recordAt(script, 'data')['backup.sh'], readFileSync('docker/mongodb/backup.sh', 'utf8'));
  t.deepEqual(ofKind(render('backup.enabled=false', 'backup.claim='), 'CronJob'), []);
});

test('the Prometheus operator gets every alert, and scrapes the job that they name', (t) => {
  const objects = render('prometheusOperator.enabled=true', 'prometheusOperator.labels.release=monitoring');
  const [rule] = ofKind(objects, 'PrometheusRule');
  t.deepEqual(recordAt(rule, 'spec'), readYaml('deploy/prometheus/rules.yml'));
  const [monitor] = ofKind(objects, 'ServiceMonitor');
  for (const object of [rule, monitor]) t.is(recordAt(object, 'metadata', 'labels').release, 'monitoring');
  const { jobLabel, selector } = recordAt(monitor, 'spec');
  const services = ofKind(objects, 'Service').filter((service) => {
    const labels = recordAt(service, 'metadata', 'labels');
    const wanted = Object.entries(recordAt(selector, 'matchLabels'));
    const hasLabels = wanted.every(([name, value]) => labels[name] === value);
    return (
      hasLabels && recordsAt(recordAt(selector).matchExpressions).every(({ key }) => !(String(key) in labels))
    );
  });
  t.is(services.length, 1);
  t.is(recordAt(services[0], 'metadata', 'labels')[String(jobLabel)], 'utility-tools');
  t.is(recordAt(services[0], 'spec').clusterIP, 'None');
});
