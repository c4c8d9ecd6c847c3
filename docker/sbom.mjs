// Prints the software bill of materials of the image in which it runs, in CycloneDX 1.6: Node.js, the npm packages and the
// Debian packages that are installed. See docker/sbom.sh. Argument: the name of the service.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

const FOLDER = '/app';
const name = process.argv.at(-1);

/** @param {string} text of `Field: value` lines @returns {Record<string, string>} */
const fieldsOf = (text) =>
  Object.fromEntries([...text.matchAll(/^([\w-]+): (.*)$/gm)].map(([, field, value]) => [field, value]));
const release = Object.fromEntries(
  [...readFileSync('/etc/os-release', 'utf8').matchAll(/^(\w+)="?([^"\n]*)"?$/gm)].map(([, key, value]) => [
    key,
    value,
  ]),
);

const debian = readFileSync('/var/lib/dpkg/status', 'utf8')
  .split('\n\n')
  .map(fieldsOf)
  .filter(({ Status }) => Status === 'install ok installed')
  .map(({ Package, Version, Architecture }) => ({
    type: 'library',
    name: Package,
    version: Version,
    purl: `pkg:deb/debian/${encodeURIComponent(Package)}@${encodeURIComponent(Version)}?arch=${Architecture}&distro=debian-${release.VERSION_ID}`,
  }));

// Written by npm: the packages that it installed, unlike package-lock.json, which also lists those of other systems.
const lock = JSON.parse(readFileSync(`${FOLDER}/node_modules/.package-lock.json`, 'utf8'));
const npm = Object.entries(lock.packages)
  // The package "node" is removed after the installation. Packages of this project have no version.
  .filter(([path, { version }]) => version !== undefined && existsSync(`${FOLDER}/${path}/package.json`))
  .map(([path, entry]) => {
    const [, installedAs] = /node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    const full = entry.name ?? installedAs;
    const [, hash] = /^sha512-(\S+)/.exec(entry.integrity ?? '') ?? [];
    return {
      type: 'library',
      name: full,
      version: entry.version,
      purl: `pkg:npm/${full.replace('@', '%40')}@${encodeURIComponent(entry.version)}`,
      ...(entry.license === undefined ? {} : { licenses: [{ license: { name: String(entry.license) } }] }),
      ...(hash === undefined
        ? {}
        : { hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }] }),
    };
  });

const node = process.versions.node;
const components = [
  {
    type: 'application',
    name: 'node',
    version: node,
    purl: `pkg:generic/node@${node}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*`,
  },
  ...debian,
  ...npm,
];
// A package that npm installed in several folders is listed once.
const unique = [...new Map(components.map((it) => [it.purl, { 'bom-ref': it.purl, ...it }])).values()];
console.log(
  JSON.stringify(
    {
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      serialNumber: `urn:uuid:${randomUUID()}`,
      version: 1,
      metadata: {
        timestamp: new Date().toISOString(),
        component: { type: 'container', name: `utility-tools-${name}`, 'bom-ref': `utility-tools-${name}` },
      },
      components: unique,
    },
    null,
    2,
  ),
);
