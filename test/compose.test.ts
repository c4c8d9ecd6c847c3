import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { parse } from 'yaml';
import { VARIABLES } from '../schemas/env.ts';
import { CONFINED_POOLS, POOLS } from '../schemas/pools.ts';
import { loadRegistry, poolsInUse } from '../schemas/registry.ts';

/** Services of this project that run no worker of a pool and no API. */
const GATEWAY = 'gateway';
const CERTIFICATES = 'certificates';

interface Service {
  build?: { target: string };
  environment?: Record<string, string | null>;
  networks?: Record<string, { aliases?: string[] } | null>;
  ports?: (string | { target: number })[];
  secrets?: { source: string }[];
  healthcheck?: { test: string[] };
  stop_grace_period?: string;
  container_name?: string;
  ulimits?: { core?: number };
  image?: string;
  tmpfs?: string[];
  volumes?: string[];
  dns?: string | string[];
  cap_drop?: string[];
  security_opt?: string[];
  mem_limit?: string;
  cpus?: number;
  pids_limit?: number;
  logging?: { options?: Record<string, string> };
}

/** Longer than the time limit of any call, from the API contract, in seconds. */
const LONGEST_CALL_S = 100;
const CONFINED: readonly string[] = CONFINED_POOLS;
const OPEN = POOLS.filter((pool) => !CONFINED.includes(pool));
/** Variables that the images set themselves, so that the Compose file need not set them. */
const IN_THE_IMAGE = ['HOST', 'PORT', 'INTERNAL_PORT', 'DATA_DIR', 'NODE_ENV'];
/** Variables for programs that are not installed; the images install theirs. */
const FOR_UNPACKED = ['PROGRAMS_DIR'];
/** Variables whose defaults fit: other containers do not use these ports, and each container is reached by its name. */
const BY_DEFAULT = ['INTERNAL_ADVERTISE', 'SDK_METRICS_PORT', 'TEMPORAL_TLS_SERVER_NAME'];
/**
 * Ports on which the server of the Temporal image listens: those that its Dockerfile exposes (membership and gRPC of
 * frontend, history, matching and worker), and the HTTP API (FRONTEND_HTTP_PORT in its config_template.yaml).
 */
const TEMPORAL_PORTS = ['6933', '6934', '6935', '6939', '7233', '7234', '7235', '7239', '7243'];

const folder = mkdtempSync(join(tmpdir(), 'utility-tools-compose-'));
let services: Record<string, Service>;
let networks: Record<string, { internal?: boolean; driver_opts?: Record<string, string> }>;
let inUse: string[];

/** Loads the Compose file as Compose itself resolves it, with the settings of .env.example. */
test.before(async () => {
  cpSync('docker-compose.yml', join(folder, 'docker-compose.yml'));
  cpSync('.env.example', join(folder, '.env'));

  const { status, stdout, stderr } = spawnSync('docker-compose', ['config'], {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin' },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  // If two services have the same name, Compose silently uses the last one; this parser fails instead.
  parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true });
  ({ services, networks } = parse(stdout));
  inUse = ['orchestrator', 'delivery', ...poolsInUse(await loadRegistry())];
});
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

/** The services that run this project's images and keep running. */
const ours = (): [string, Service][] =>
  Object.entries(services).filter(([name, { build }]) => build !== undefined && name !== CERTIFICATES);
/** Those of them that run the API or a pool. */
const processes = (): [string, Service][] => ours().filter(([name]) => name !== GATEWAY);

/** Returns the lines of each stage of the Dockerfile, by the name of the stage. */
const stages = (): Map<string, string> => {
  const parts = readFileSync('Dockerfile', 'utf8')
    .split(/^FROM /m)
    .slice(1);
  return new Map(parts.map((part) => [/ AS (\w+)/.exec(part)?.[1] ?? '', part]));
};

test('the API and each pool have one service with its own image', (t) => {
  t.deepEqual(
    processes()
      .map(([name]) => name)
      .sort(),
    ['api', ...inUse].sort(),
  );
  for (const [name, { build }] of processes()) {
    t.is(build?.target, name);
    const stage = stages().get(name) ?? '';
    const command =
      name === 'api' ? '["node", "api/server.ts"]' : `["node", "workers/main.ts", "--pool", "${name}"]`;
    t.true(stage.includes(`CMD ${command}`), name);
    t.regex(stage, /^ENV .*INTERNAL_PORT=9090/m);
  }
});

test('no image runs as root', (t) => {
  for (const [name, stage] of stages()) {
    const users = [...stage.matchAll(/^USER (\w+)/gm)].map(([, user]) => user);
    if (name !== 'dependencies') t.not(users.at(-1), 'root', name);
  }
  t.regex(stages().get('base') ?? '', /^USER node$/m);
});

/** Their images start as root, give their data to the user of the database, and continue as this user. */
const OWN_CAPABILITIES = ['mongodb', 'postgresql'];

test('no container can gain privileges, and all but the databases have no capabilities of root', (t) => {
  for (const [name, { cap_drop, security_opt }] of Object.entries(services)) {
    t.true(security_opt?.includes('no-new-privileges:true'), name);
    t.deepEqual(cap_drop, OWN_CAPABILITIES.includes(name) ? undefined : ['ALL'], name);
  }
});

test('the script for bills of materials covers every image of this project', (t) => {
  const [, list = ''] = /^for service in (.*); do$/m.exec(readFileSync('docker/sbom.sh', 'utf8')) ?? [];
  const built = Object.keys(services).filter((name) => services[name]?.build !== undefined);
  t.deepEqual(list.split(' ').sort(), built.sort());
});

test('.dockerignore lets through what the Dockerfile copies', (t) => {
  const sent = [...readFileSync('.dockerignore', 'utf8').matchAll(/^!(.+)$/gm)].map(([, path = '']) => path);
  const copied = [...readFileSync('Dockerfile', 'utf8').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
    ([, sources = '']) => sources.split(' '),
  );
  t.true(copied.length > 10);
  for (const path of copied)
    t.true(
      sent.some((allowed) => path === allowed || path.startsWith(`${allowed}/`)),
      path,
    );
});

test('the images contain everything that the stage of the code copies', (t) => {
  const stage = stages().get('code') ?? '';
  const [, moved = ''] = /mv (package\.json .*) \/code\/$/m.exec(stage) ?? [];
  const copied = [...stage.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, sources = '']) => sources.split(' '));
  t.deepEqual(moved.split(' ').sort(), copied.sort());
});

test('no image downloads GPU libraries', (t) => {
  t.regex(stages().get('dependencies') ?? '', /^ENV ONNXRUNTIME_NODE_INSTALL=skip\n[\s\S]*npm install/m);
});

test('every variable of a service exists, and every variable is set for the services that use it', (t) => {
  const known = new Set(Object.keys(VARIABLES).flatMap((name) => [name, `${name}_FILE`]));
  const given = new Set<string>();
  for (const [name, { environment = {} }] of ours())
    for (const variable of Object.keys(environment)) {
      t.true(known.has(variable), `${name}: ${variable}`);
      given.add(variable.replace(/_FILE$/, ''));
    }
  const missing = Object.keys(VARIABLES).filter((name) => !given.has(name));
  t.deepEqual(missing.sort(), [...IN_THE_IMAGE, ...FOR_UNPACKED, ...BY_DEFAULT].sort());
});

test('a service has more time to stop than any call takes', (t) => {
  for (const [name, { stop_grace_period = '' }] of ours()) {
    const [, minutes = '0', seconds = '0'] = /^(?:(\d+)m)?(?:(\d+)s)?$/.exec(stop_grace_period) ?? [];
    t.true(Number(minutes) * 60 + Number(seconds) > LONGEST_CALL_S, `${name}: ${stop_grace_period}`);
  }
});

test('every service has a health check, and no fixed name or port that would prevent scaling it', (t) => {
  for (const [name, service] of ours()) {
    const url = name === GATEWAY ? '127.0.0.1:3128/ready' : '127.0.0.1:9090/readyz';
    t.true(
      service.healthcheck?.test.some((part) => part.includes(url)),
      name,
    );
    t.is(service.container_name, undefined);
    t.is(service.ports, undefined, name);
  }
});

test('secrets are passed as files and do not appear in the Compose file', (t) => {
  const text = readFileSync('docker-compose.yml', 'utf8');
  t.notRegex(
    text,
    /^\s*(?:MASTER_KEYS|MONGODB_URI|POSTGRES_PASSWORD|STRIPE_SECRET_KEY|STRIPE_WEBHOOK_SECRET|SMTP_URL):/m,
  );
  for (const [name, { secrets = [], environment = {} }] of processes()) {
    for (const secret of CONFINED.includes(name) ? ['master_keys'] : ['master_keys', 'mongodb_uri']) {
      t.true(
        secrets.some(({ source }) => source === secret),
        `${name}: ${secret}`,
      );
      t.is(environment[`${secret.toUpperCase()}_FILE`], `/run/secrets/${secret}`, name);
    }
  }
});

test('no process of the service can write a core dump', (t) => {
  for (const [name, { ulimits }] of ours()) t.is(ulimits?.core, 0, name);
});

test("services that connect to addresses from callers or owners have outside access, but not to the service's own ports", (t) => {
  const open = Object.entries(services).filter(([, { networks = {} }]) => 'outside' in networks);
  const reachable = ['8080', '9090', '27017', '5432', '8233', '3128', ...TEMPORAL_PORTS];
  for (const [name, { environment = {} }] of ours()) {
    if (name === 'api' || name === 'orchestrator') continue;
    t.deepEqual(environment.OWN_PORTS?.split(',').sort(), reachable.toSorted(), name);
  }
  t.deepEqual(open.map(([name]) => name).sort(), ['delivery', GATEWAY, ...OPEN].sort());
});

/** Returns the internal networks of a service, which have no access to the outside. */
const inner = (name: string): string[] =>
  Object.keys(services[name]?.networks ?? {}).filter((network) => networks[network]?.internal === true);

test('the pools that process hostile content share a network with the gateway only, and have no secret of the database', (t) => {
  for (const name of CONFINED) {
    const { networks: own = {}, secrets = [], environment = {}, dns } = services[name] ?? {};
    t.deepEqual(Object.keys(own), [name]);
    t.deepEqual(inner(name), [name]);
    const neighbours = Object.keys(services).filter((other) => inner(other).includes(name));
    t.deepEqual(neighbours.sort(), [GATEWAY, name].sort());
    t.is(networks[name]?.driver_opts?.['com.docker.network.bridge.inhibit_ipv4'], 'true');
    t.deepEqual([dns].flat(), ['127.0.0.1']);
    t.false(secrets.some(({ source }) => source.startsWith('mongodb')));
    t.is(environment.MONGODB_URI_FILE, '');
    t.is(environment.GATEWAY_URL, `http://${GATEWAY}:3128`);
    t.is(environment.TEMPORAL_ADDRESS, `${GATEWAY}:7233`);
  }
  t.is(networks.outside?.driver_opts?.['com.docker.network.bridge.enable_icc'], 'false');
});

test('Temporal requires certificates, and each volume of private keys has one kind of owner', (t) => {
  const { environment = {} } = services.temporal ?? {};
  t.is(environment.TEMPORAL_TLS_REQUIRE_CLIENT_AUTH, 'true');
  const mounts = (name: string) =>
    (services[name]?.volumes ?? [])
      .map((volume) => volume.split(':'))
      .filter(([source = '']) => source.startsWith('temporal-'));
  const issued = mounts(CERTIFICATES).map(([source = '']) => source);
  const owners: Record<string, string[]> = {
    'temporal-ca': [],
    'temporal-server': ['temporal'],
    'temporal-client': ['api', 'delivery', GATEWAY, 'orchestrator', 'temporal-setup', ...OPEN],
    'temporal-ui': ['temporal-ui'],
    'temporal-gateway': [GATEWAY],
    ...Object.fromEntries(CONFINED.map((pool) => [`temporal-${pool}`, [pool]])),
  };
  t.deepEqual(issued.sort(), Object.keys(owners).sort());
  for (const [volume, expected] of Object.entries(owners)) {
    const found = Object.keys(services).filter(
      (name) => name !== CERTIFICATES && mounts(name).some(([source]) => source === volume),
    );
    t.deepEqual(found.sort(), expected.toSorted(), volume);
    for (const name of found)
      t.true(
        mounts(name).every(([, , mode]) => mode === 'ro'),
        name,
      );
  }
});

test('the API is reachable from outside only through the proxy', (t) => {
  const published = Object.keys(services).filter((name) => services[name]?.ports !== undefined);
  t.deepEqual(published, ['proxy']);
  t.is(services.api?.environment?.TRUST_PROXY, 'true');
  t.deepEqual(inner('proxy').sort(), ['edge', 'edge-ui']);
  const neighbours = Object.keys(services).filter((name) => inner(name).includes('edge'));
  t.deepEqual(neighbours.sort(), ['api', 'proxy']);
});

test('each process has its own folder to write to', (t) => {
  for (const [name, { tmpfs = [] }] of ours())
    t.true(tmpfs.includes('/data:uid=1000,gid=1000,mode=0700'), name);
});

test('memory, CPUs, processes and logs of every service have limits', (t) => {
  for (const [name, { mem_limit, cpus = 0, pids_limit = 0, logging }] of Object.entries(services)) {
    t.truthy(mem_limit, name);
    // Docker rejects limits above the number of CPUs; docker/prepare.sh requires two.
    t.true(cpus > 0 && cpus <= 2, `${name}: ${cpus}`);
    t.true(pids_limit > 0, name);
    t.truthy(logging?.options?.['max-size'], name);
    t.truthy(logging?.options?.['max-file'], name);
  }
});

test('Prometheus reaches the metrics of the gateway under a name that only the network of the services has', (t) => {
  const names = Object.entries(services[GATEWAY]?.networks ?? {}).flatMap(([network, settings]) =>
    (settings?.aliases ?? []).map((alias) => `${network}: ${alias}`),
  );
  t.deepEqual(names, ['services: gateway-metrics']);
  const { scrape_configs } = parse(readFileSync('deploy/prometheus/prometheus.yml', 'utf8'));
  t.deepEqual(
    scrape_configs[0].dns_sd_configs[0].names.toSorted(),
    [...processes().map(([name]) => name), 'gateway-metrics'].toSorted(),
  );
});

test('every image has an exact version, and all images of this project the same Node.js', (t) => {
  for (const [name, { image, build }] of Object.entries(services))
    if (build === undefined) t.regex(image ?? '', /:v?\d+\.\d+(?:\.\d+)?(?:-[\w.-]+)?$/, name);
  t.regex(services.mongodb?.image ?? '', /^mongo:\d+\.\d+\.\d+$/);
  t.is(services.backup?.image, services.mongodb?.image);
  const bases = [...readFileSync('Dockerfile', 'utf8').matchAll(/^FROM (\S+:\S+)/gm)].map(([, base]) => base);
  t.regex([...new Set(bases)].join(), /^node:\d+\.\d+\.\d+-bookworm-slim$/);
  const used = new Set(Object.values(services).map(({ image }) => image));
  const servers = readFileSync('test/containers/kubernetes/servers.yaml', 'utf8');
  for (const [, image] of servers.matchAll(/^ *image: (\S+)$/gm)) t.true(used.has(image), image);
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  t.true(bases[0]?.startsWith(`node:${packages['node_modules/node'].version}-`), bases[0]);
});

test('the Temporal server and its tools have the same exact version', (t) => {
  const version = /^temporalio\/server:(\d+\.\d+\.\d+)$/.exec(services.temporal?.image ?? '')?.[1] ?? '';
  for (const name of ['temporal-schema', 'temporal-setup'])
    t.is(services[name]?.image, `temporalio/admin-tools:${version}`, name);
  t.regex(services['temporal-ui']?.image ?? '', /^temporalio\/ui:\d+\.\d+\.\d+$/);
});
