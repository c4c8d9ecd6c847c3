import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { CONFINED_POOLS, POOLS } from '../../schemas/pools.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { recordAt } from '../helpers/json.ts';
import { HTTPS_PORT, NODE_IMAGE, UI_PORT, UP_MS } from './client.ts';
import { COMMAND_MS, env, root, run } from './harness.ts';
import { shell } from './shell.ts';

/** Port of this machine at which the proxy redirects to HTTPS. */
const HTTP_PORT = 18_080;
const FIXTURE = 'test/containers/fixture.yml';
const POOL_SERVICES = 'test/containers/pools.json';

/** Settings with which a pool reaches the fixture, for Compose: a confined pool through the gateway. */
function poolServices(fixture: unknown): Record<string, unknown> {
  const { environment } = recordAt(fixture, 'services', 'api');
  return Object.fromEntries(
    POOLS.map((pool) => [
      pool,
      CONFINED_POOLS.includes(pool) ? { environment } : { environment, networks: { fixture: null } },
    ]),
  );
}

/** Copies all files of the project that git does not ignore, and writes .env. @param project name for Compose */
export async function copyProject(folder: string, project: string): Promise<void> {
  const files = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], root);
  for (const file of files.split('\0').filter((name) => name !== '')) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await cp(join(root, file), join(folder, file));
  }
  const example = await readFile(join(folder, '.env.example'), 'utf8');
  const settings = {
    COMPOSE_PROJECT_NAME: project,
    PUBLIC_URL: 'https://localhost',
    TEMPORAL_UI_URL: 'https://localhost:8233',
    // A long start period, because machines that run tests can be slow.
    START_PERIOD: `${UP_MS / 1000}s`,
  };
  const lines = Object.entries(settings).reduce(
    (text, [name, value]) => text.replace(new RegExp(`^${name}=.*$`, 'm'), `${name}=${value}`),
    example,
  );
  const services = poolServices(parse(await readFile(join(folder, FIXTURE), 'utf8'), { merge: true }));
  await writeFile(join(folder, POOL_SERVICES), JSON.stringify({ services }));
  const fixture = join(folder, 'fixture');
  const extra = [
    `COMPOSE_FILE=docker-compose.yml:${FIXTURE}:${POOL_SERVICES}`,
    `HTTP_PORT=${HTTP_PORT}`,
    `HTTPS_PORT=${HTTPS_PORT}`,
    `TEMPORAL_UI_PORT=${UI_PORT}`,
    `PROJECT=${root}`,
    `FIXTURE=${fixture}`,
    `NODE_IMAGE=${NODE_IMAGE}`,
  ];
  await writeFile(join(folder, '.env'), `${lines}\n${extra.join('\n')}\n`);
  const { cert, key } = await makeCertificate(['DNS:example.com', 'DNS:mail.example.com']);
  await mkdir(fixture);
  await writeFile(join(fixture, 'certificate.pem'), cert);
  await writeFile(join(fixture, 'key.pem'), key);
}

/** Runs docker/prepare.sh. @returns the problems that it reports, except an old engine, such as that of engine.sh */
export async function prepare(folder: string): Promise<string[]> {
  const options = { cwd: folder, env, timeoutMs: COMMAND_MS };
  const output = await shell('sh', ['-c', 'docker/prepare.sh 2>&1; true'], options);
  return output
    .split('\n')
    .filter((line) => line !== '' && !/^prepare: Docker engine \S+ is too old/.test(line));
}
