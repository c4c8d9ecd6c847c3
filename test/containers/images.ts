import assert from 'node:assert/strict';
import { POOL_TABLE, POOLS } from '../../schemas/pools.ts';
import { isRecord, type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { type Client, PROJECT } from './client.ts';
import { step } from './harness.ts';

/** Largest size of each image of this project, in MB. */
const SIZES: Readonly<Record<string, number>> = {
  ...{ api: 1550, orchestrator: 1550, delivery: 1550, gateway: 1550, certificates: 1550 },
  ...Object.fromEntries(POOLS.map((pool) => [pool, POOL_TABLE[pool].image.megabytes])),
};
/** Folders and files of the project in the images; the images of the API also have `docs`. */
const FILES = [
  'LICENSE',
  'LICENSES',
  ...[
    'activities',
    'api',
    'egress',
    'node_modules',
    'package-lock.json',
    'package.json',
    'platform',
    'schemas',
    'store',
  ],
  ...['workers', 'workflows'],
];
/** Programs that fetch, build or debug. */
const TOOLS = [
  ...[
    'npm',
    'npx',
    'corepack',
    'yarn',
    'pip',
    'pip3',
    'gcc',
    'cc',
    'g++',
    'c++',
    'make',
    'cmake',
    'ld',
    'as',
  ],
  ...['git', 'curl', 'wget', 'gdb', 'strace', 'tcpdump', 'nc', 'ssh', 'sudo'],
];
/** Packages that only development needs. */
const DEVELOPMENT = ['ava', 'typescript', '@biomejs/biome', 'mongodb-memory-server-core', 'node'];
/** Services whose processes run as root, without its capabilities except those that docker-compose.yml names. */
const ROOT = ['proxy', 'backup'];

/** Prints what an image contains, as JSON. */
const CONTENTS = `import { execFileSync } from 'node:child_process';
  import { existsSync, readdirSync, readFileSync } from 'node:fs';
  const [tools, packages] = process.argv.slice(1).map((text) => text.split(' '));
  const folders = process.env.PATH.split(':');
  const debian = execFileSync('dpkg-query', ['-W', '-f', '\${Package} \${Version}\\n'], { encoding: 'utf8' });
  console.log(JSON.stringify({
    uid: process.getuid(),
    files: readdirSync('/app').sort(),
    tools: tools.filter((name) => folders.some((folder) => existsSync(folder + '/' + name))),
    packages: packages.filter((name) => existsSync('/app/node_modules/' + name)),
    debian: debian.trim().split('\\n'),
    koa: JSON.parse(readFileSync('/app/node_modules/koa/package.json')).version,
    node: process.versions.node,
  }));`;

const strings = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** Scans the images of this project, and checks the users of all running processes. */
export async function testImages(client: Client): Promise<void> {
  const image = (service: string) => `${PROJECT}-${service}`;
  const inspect = async (...args: string[]): Promise<Json> => {
    const [details]: unknown[] = JSON.parse(await client.docker(...args));
    return isRecord(details) ? details : {};
  };
  const contents = new Map<string, Json>();

  await step(
    'no image contains package managers, build tools, development packages or other files',
    async () => {
      for (const service of Object.keys(SIZES)) {
        const args = ['run', '--rm', '--network', 'none', '--entrypoint', 'node', image(service)];
        const output = await client.docker(
          ...[...args, '--input-type=module', '-e', CONTENTS, TOOLS.join(' '), DEVELOPMENT.join(' ')],
        );
        const found: Json = JSON.parse(output);
        contents.set(service, found);
        assert.equal(found.uid, 1000, service);
        assert.deepEqual(found.files, [...FILES, ...(service === 'api' ? ['docs'] : [])].sort(), service);
        assert.deepEqual([found.tools, found.packages], [[], []], service);
        const headers = strings(found.debian).filter((name) => /^\S+-dev(:\S+)? /.test(name));
        assert.deepEqual(headers, [], service);
      }
    },
  );

  await step('no process removes types from a module when it starts', async () => {
    for (const service of Object.keys(SIZES)) {
      const { Cmd: command } = recordAt(await inspect('image', 'inspect', image(service)), 'Config');
      // Without its configuration, a process ends after it has loaded its modules.
      const shell = ['sh', '-c', '"$@" 2>&1; true', 'sh', ...strings(command)];
      const output = await client.docker(
        ...['run', '--rm', '--network', 'none', '--env', 'NODE_DEBUG_NATIVE=COMPILE_CACHE'],
        ...['--entrypoint', 'env', image(service), ...shell],
      );
      const loads = [...output.matchAll(/for StrippedTypeScript file:(\S+?)\.\.\.(.*)/g)];
      const missed = loads.filter(([, , result = '']) => !result.includes('success')).map(([, path]) => path);
      assert.ok(loads.length > 20, `${service}: ${loads.length} modules\n${output.slice(0, 1000)}`);
      assert.deepEqual(missed, [], service);
    }
  });

  await step('every image has at most its size', async () => {
    const sizes: string[] = [];
    for (const [service, limit] of Object.entries(SIZES)) {
      const { Size } = await inspect('image', 'inspect', image(service));
      const megabytes = Math.round(Number(Size) / 1e6);
      sizes.push(`${service} ${megabytes}`);
      assert.ok(megabytes > 0 && megabytes <= limit, `${service}: ${megabytes} MB, ${limit} allowed`);
    }
    console.log(`# MB: ${sizes.join(', ')}`);
  });

  await step(
    'no process runs as root, except those of the proxy and the backup, without its capabilities',
    async () => {
      for (const { Service: service, State } of await client.services()) {
        // The fixture is not part of the stack.
        if (State !== 'running' || service === 'fixture') continue;
        for (const id of await client.ids(service)) {
          const details = await inspect('inspect', id);
          const main = String(recordAt(details, 'State').Pid);
          // The first process only: health checks of databases run as the image's own user.
          const processes = (await client.docker('top', id, '-eo', 'pid,uid')).trim().split('\n').slice(1);
          const [, uid = ''] =
            processes.map((line) => line.trim().split(/\s+/)).find(([pid]) => pid === main) ?? [];
          assert.equal(uid === '0', ROOT.includes(service), `${service} runs as ${uid}`);
          if (uid === '0') assert.deepEqual(recordAt(details, 'HostConfig').CapDrop, ['ALL'], service);
        }
      }
    },
  );

  await step(
    'docker/sbom.sh writes a bill of materials of each image, with what is installed in it',
    async () => {
      await client.shell('docker/sbom.sh');
      for (const [service, found] of contents) {
        const sbom: Json = JSON.parse(await client.shell('cat', `sbom/${service}.cdx.json`));
        assert.deepEqual([sbom.bomFormat, sbom.specVersion], ['CycloneDX', '1.6'], service);
        const components = recordsAt(sbom.components);
        const urls = components.map(({ purl }) => String(purl));
        assert.equal(new Set(urls).size, urls.length, service);
        const debian = components
          .filter(({ purl }) => String(purl).startsWith('pkg:deb/debian/'))
          .map(({ name, version }) => `${name} ${version}`);
        assert.deepEqual(debian.sort(), strings(found.debian).sort(), service);
        const npm = urls.filter((purl) => purl.startsWith('pkg:npm/'));
        assert.ok(npm.includes(`pkg:npm/koa@${found.koa}`) && npm.length > 200, `${service}: ${npm.length}`);
        assert.ok(urls.includes(`pkg:generic/node@${found.node}`), service);
        for (const name of DEVELOPMENT)
          assert.ok(!npm.some((purl) => purl.startsWith(`pkg:npm/${name.replace('@', '%40')}@`)), name);
      }
    },
  );
}
