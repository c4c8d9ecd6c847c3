import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import test from 'ava';
import { parse } from 'yaml';
import { VARIABLES } from '../schemas/env.ts';
import { loadRegistry, poolsInUse } from '../schemas/registry.ts';
import { recordAt } from './helpers/json.ts';

const CHART = 'deploy/helm/utility-tools';
const read = (path: string) => readFileSync(path, 'utf8');
const values = recordAt(parse(read(`${CHART}/values.yaml`)));
const compose = recordAt(parse(read('docker-compose.yml'), { merge: true }), 'services');

/** Parses a memory size in GiB, from a Compose value such as `${CPU_MEMORY:-4g}` or a Kubernetes quantity. */
const gibibytes = (text: unknown): number => Number(/(\d+)(?:g|Gi)\}?$/.exec(String(text))?.[1]);

test('the chart has one component for the API, the gateway and each pool, with the same memory limit as in Compose', async (t) => {
  const components = recordAt(values, 'components');
  const pools = ['orchestrator', 'delivery', ...poolsInUse(await loadRegistry())];
  t.deepEqual(Object.keys(components).sort(), ['api', 'gateway', ...pools].sort());
  for (const name of Object.keys(components)) {
    const { memory } = recordAt(components, name, 'resources', 'limits');
    t.is(gibibytes(memory), gibibytes(recordAt(compose, name).mem_limit), name);
  }
});

test('the chart sets only variables that exist, and can reference every secret variable', (t) => {
  const known = Object.keys(VARIABLES);
  for (const [group, variables] of Object.entries(recordAt(values, 'env')))
    for (const name of Object.keys(recordAt(variables))) t.true(known.includes(name), `${group}: ${name}`);
  const template = read(`${CHART}/templates/_helpers.tpl`);
  for (const [, name = ''] of template.matchAll(/"([A-Z][A-Z_]+)"/g)) t.true(known.includes(name), name);
  const secrets = Object.entries(VARIABLES).flatMap(([name, variable]) =>
    'secret' in variable ? [name] : [],
  );
  t.true(secrets.length >= 5);
  for (const name of secrets) t.true(template.includes(`"${name}" $secrets.`), name);
});

test('the schema of the values accepts a minimal installation and names missing values', (t) => {
  const validate = new Ajv({ strict: false }).compile(JSON.parse(read(`${CHART}/values.schema.json`)));
  const backup = recordAt(values, 'backup');
  const minimal = {
    ...values,
    publicUrl: 'https://tools.example.com',
    temporal: { ...recordAt(values, 'temporal'), address: 'temporal.example.com:7233' },
    backup: { ...backup, claim: 'backups' },
  };
  t.true(validate(minimal), JSON.stringify(validate.errors));
  t.true(validate({ ...minimal, backup: { ...backup, enabled: false } }), JSON.stringify(validate.errors));
  for (const [wrong, path] of [
    [{ ...minimal, publicUrl: '' }, '/publicUrl'],
    [{ ...minimal, temporal: recordAt(values, 'temporal') }, '/temporal/address'],
    [
      { ...minimal, keda: { ...recordAt(values, 'keda'), pools: { cpu: { minReplicas: 0 } } } },
      '/keda/pools/cpu',
    ],
    [{ ...minimal, backup }, '/backup/claim'],
    [{ ...minimal, gateway: { certificates: { gateway: 'a', browser: 'b' } } }, '/gateway/certificates'],
    [{ ...minimal, unknown: 1 }, ''],
  ] as const) {
    t.false(validate(wrong), path);
    t.is(validate.errors?.[0]?.instancePath.startsWith(path), true, path);
  }
});

test('the backup of the chart uses the image, the script and the limits of the one in Compose', (t) => {
  const { image, environment, mem_limit } = recordAt(compose, 'backup');
  const backup = recordAt(values, 'backup');
  t.is(backup.image, image);
  t.is(backup.database, recordAt(environment).BACKUP_DATABASE);
  t.is(String(recordAt(environment).BACKUP_KEEP), `\${BACKUP_KEEP:-${backup.keep}}`);
  t.is(recordAt(backup, 'resources', 'limits').memory, String(mem_limit).replace('m', 'Mi'));
  t.is(read(`${CHART}/files/backup.sh`), read('docker/mongodb/backup.sh'));
  t.is(read(`${CHART}/files/rules.yml`), read('deploy/prometheus/rules.yml'));
});
