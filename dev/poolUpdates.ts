import { isRecord } from '../schemas/isRecord.ts';
import { CONFINED_POOLS, lanesOf, POOL_TABLE, POOLS, type Pool } from '../schemas/pools.ts';
import { poolsWithSecrets, type Registry } from '../schemas/registry.ts';
import { toolQueue } from '../workflows/contract.ts';
import { line, part, type Update, whole } from './generatedText.ts';
import { markdownTable } from './markdownTable.ts';

// Writes the parts of Dockerfile, docker-compose.yml, the chart and the documents that derive from the table of pools in
// `schemas/pools.ts`.

/** Maximum length of the lines of a Dockerfile that list packages. */
const WIDTH = 118;
/** Maximum length of the lines of JSON, as in `biome.json`. */
const JSON_WIDTH = 110;
const CHART = 'deploy/helm/utility-tools';

const forEach = (pools: readonly Pool[], text: (pool: Pool) => string): string => pools.map(text).join('\n');

/** Joins words by spaces, in lines of the width that end with a backslash. @param indent that of all but the first line */
function wrapped(words: readonly string[], indent: string): string {
  const lines: string[] = [];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && `${indent}${longer} \\`.length <= WIDTH) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.join(` \\\n${indent}`);
}

/** Shell commands with which apt takes the packages of a source package from Debian 12's backports. */
const fromBackports = (
  source: string,
): string => `echo 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm-backports main' \\
      > /etc/apt/sources.list.d/backports.list && \\
    printf 'Package: src:${source}\\nPin: release n=bookworm-backports\\nPin-Priority: 600\\n' \\
      > /etc/apt/preferences.d/${source} && \\
    `;

function installation(pool: Pool): string {
  const { install } = POOL_TABLE[pool].image;
  if (install === undefined) return '';
  const { comment, packages, backport, command } = install;
  return `${comment.map((line) => `# ${line}\n`).join('')}USER root
RUN ${backport === undefined ? '' : fromBackports(backport)}apt-get update && \\
    apt-get install -y --no-install-recommends \\
      ${wrapped(packages, '      ')} && \\
    rm -rf /var/lib/apt/lists/*${command === undefined ? '' : ` && \\\n    ${command}`}
USER node
`;
}

/** Stage of the Dockerfile. */
const image = (pool: Pool): string => `FROM base AS ${pool}
${installation(pool)}COPY --from=code /code ./
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "${pool}"]
`;

/** Service in docker-compose.yml. */
function service(pool: Pool): string {
  const { confined: isConfined, container } = POOL_TABLE[pool];
  const { memory, cpuShares, pids, variables = [] } = container;
  const prefix = pool.toUpperCase();
  const own = isConfined
    ? `    networks: [${pool}]\n    volumes: ["temporal-${pool}:/certificates:ro"]\n`
    : '';
  return `  ${pool}:
    <<: *${isConfined ? 'confined' : 'open'}
    build: { context: ., target: ${pool} }
    deploy:
      replicas: \${${prefix}_REPLICAS:-1}
    mem_limit: \${${prefix}_MEMORY:-${memory.limit}g}
    cpus: \${${prefix}_CPUS:-2}
    cpu_shares: ${cpuShares}
    pids_limit: ${pids}
${own}    environment:
      <<: *${isConfined ? 'confined' : 'egress'}-environment
${variables.map((name) => `      ${name}: \${${name}:-}\n`).join('')}`;
}

/** Variables in .env.example. */
const settings = (pool: Pool): string => {
  const prefix = pool.toUpperCase();
  return `${prefix}_REPLICAS=1\n${prefix}_MEMORY=${POOL_TABLE[pool].container.memory.limit}g\n#${prefix}_CPUS=2`;
};

const quantity = (gibibytes: number): string =>
  Number.isInteger(gibibytes) ? `${gibibytes}Gi` : `${gibibytes * 1024}Mi`;

/** Component in the values of the chart. */
function component(pool: Pool): string {
  const { memory, cpuShares } = POOL_TABLE[pool].container;
  return `  ${pool}:
    replicas: 1
    resources:
      requests: { cpu: ${Math.round((cpuShares * 1000) / 1024)}m, memory: ${quantity(memory.request)} }
      limits: { memory: ${quantity(memory.limit)} }`;
}

/** Limits of KEDA in the values of the chart. */
function scaling(pool: Pool): string {
  const { maxReplicas, backlog } = POOL_TABLE[pool].container.scaling;
  return `    ${pool}: { minReplicas: 1, maxReplicas: ${maxReplicas}, backlog: ${backlog} }`;
}

/** Returns the entry of a pool in `files/pools.yml`, which the templates of the chart read. */
function facts(pool: Pool, registry: Registry): string {
  const secrets = poolsWithSecrets(registry).includes(pool);
  const queues = lanesOf(pool).map((lane) => toolQueue(pool, lane));
  return `${pool}: { confined: ${POOL_TABLE[pool].confined}, secrets: ${secrets}, queues: [${queues.join(', ')}] }`;
}

const slotTable = (): string =>
  markdownTable(
    [
      ...[{ title: 'Pool' }, { title: 'Bound by' }, { title: 'Slots per worker and lane' }],
      ...[{ title: 'Memory of a job' }, { title: 'Confined' }],
    ],
    [
      ...POOLS.map((pool) => {
        const { boundBy, slotsText, jobMemory, confined } = POOL_TABLE[pool];
        return [`\`${pool}\``, boundBy, slotsText, `${jobMemory} GiB`, confined ? 'yes' : 'no'];
      }),
      ['`delivery`', 'open connections', '1,000 endpoints, without lanes', '', 'no'],
    ],
  );

const toolTable = (): string =>
  markdownTable(
    [{ title: 'Pool' }, { title: 'Runs' }],
    POOLS.map((pool) => [`\`${pool}\``, POOL_TABLE[pool].tools]),
  );

/** Returns the object at a path in JSON. @throws when there is none */
function objectAt(value: unknown, ...path: string[]): Record<string, unknown> {
  if (!isRecord(value)) throw new Error(`no object ${path.join('.')}`);
  const [name, ...rest] = path;
  return name === undefined ? value : objectAt(value[name], ...rest);
}

/** Formats JSON as Biome does: arrays in one line where they fit. */
function formatted(value: unknown): string {
  const lines: string[] = [];
  /** Index of the line with which the innermost array begins; null in an object. */
  let array: number | null = null;
  for (const line of JSON.stringify(value, null, 2).split('\n')) {
    const text = line.trim();
    if (text.startsWith(']') && array !== null) {
      const [start = '', ...items] = lines.slice(array);
      const joined = `${start}${items.map((item) => item.trim()).join(' ')}${text}`;
      if (joined.length <= JSON_WIDTH) lines.splice(array, lines.length, joined);
      else lines.push(line);
      array = null;
    } else {
      lines.push(line);
      if (text.endsWith('[')) array = lines.length - 1;
      else if (text.endsWith('{') || text.startsWith('}')) array = null;
    }
  }
  return lines.join('\n');
}

/** Lists the components and pools in the schema of the chart's values. */
function valuesSchema(text: string): string {
  const schema: unknown = JSON.parse(text);
  const others = ['api', 'orchestrator', 'delivery', 'gateway'];
  const list = (names: readonly string[], definition: unknown, ...path: string[]) =>
    Object.assign(objectAt(schema, 'properties', ...path), {
      properties: Object.fromEntries(names.map((name) => [name, definition])),
    });
  const reference = (name: string) => ({ $ref: `#/definitions/${name}` });
  const owners = ['gateway', ...CONFINED_POOLS];
  list(['all', 'egress', ...others, ...POOLS], reference('variables'), 'env');
  list(['delivery', ...POOLS], reference('scaling'), 'keda', 'properties', 'pools');
  Object.assign(list([...others, ...POOLS], reference('component'), 'components'), {
    required: [...others, ...POOLS],
  });
  Object.assign(list(owners, { type: 'string', minLength: 1 }, 'gateway', 'properties', 'certificates'), {
    required: owners,
  });
  return `${formatted(schema)}\n`;
}

/** Returns the updates of everything that lists the pools. */
export function poolUpdates(registry: Registry): Update[] {
  const processes = ['api', 'orchestrator', 'delivery', ...POOLS];
  const compose = (name: string, text: string) => part('docker-compose.yml', name, text);
  const values = (name: string, text: string) => part(`${CHART}/values.yaml`, name, text);
  const operations = (start: string, ...rest: string[]) => line('docs/operations.md', start, rest.join(' '));
  return [
    part('Dockerfile', 'pools', forEach(POOLS, image)),
    part('.env.example', 'pools', forEach(POOLS, settings)),
    compose('pools', forEach(POOLS, service)),
    compose(
      'networks of the gateway',
      forEach(CONFINED_POOLS, (pool) => `      ${pool}:`),
    ),
    compose(
      'volumes of certificates',
      forEach(CONFINED_POOLS, (pool) => `      - temporal-${pool}:/certificates/${pool}`),
    ),
    compose(
      'networks',
      forEach(CONFINED_POOLS, (pool) => `  ${pool}: *confined-network`),
    ),
    compose(
      'volumes',
      forEach(CONFINED_POOLS, (pool) => `  temporal-${pool}:`),
    ),
    line('docker/sbom.sh', 'for service in ', `${processes.join(' ')} gateway certificates; do`),
    values(
      'certificates',
      forEach(CONFINED_POOLS, (pool) => `    ${pool}: utility-tools-${pool}`),
    ),
    values('pools', forEach(POOLS, component)),
    values('scaling', forEach(POOLS, scaling)),
    { file: `${CHART}/values.schema.json`, update: valuesSchema },
    whole(
      `${CHART}/files/pools.yml`,
      `# Generated by npm run docs: whether a pool is confined and has tools with secret fields, and its task queues.
${forEach(POOLS, (pool) => facts(pool, registry))}
`,
    ),
    line('deploy/prometheus/prometheus.yml', '      - names: ', `[${processes.join(', ')}, gateway-metrics]`),
    part('docs/architecture.md', 'pools', `\n${toolTable()}\n`),
    part('docs/operations.md', 'pools', `\n${slotTable()}\n`),
    operations('docker compose restart gateway ', ...processes, 'temporal-ui'),
    operations('docker compose stop ', ...processes, 'gateway backup'),
    operations('for image in ', ...processes, 'gateway; do'),
    operations('for owner in ', 'gateway', `${CONFINED_POOLS.join(' ')}; do`),
  ];
}
