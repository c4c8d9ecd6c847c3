import { readFileSync } from 'node:fs';
import test from 'ava';
import { COLUMNS, cellsOf, licenceOf, readLock } from '../dev/dependencies.ts';
import { projectFile } from '../dev/tables.ts';

type Versions = Record<string, string>;
interface Manifest {
  dependencies: Versions;
  devDependencies: Versions;
  overrides: Record<string, string | Versions>;
  allowScripts: Record<string, boolean>;
}

const manifest: Manifest = JSON.parse(readFileSync(projectFile('package.json'), 'utf8'));
const lock = readLock('package-lock.json');
const text = readFileSync(projectFile('docs/dependencies.md'), 'utf8');

/** Returns the cells of the table below a heading, without backticks. */
function tableOf(heading: string): string[][] {
  const [, section = ''] = text.split(`\n## ${heading}\n`);
  const [below = ''] = section.split('\n## ');
  const lines = below.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) => (cellsOf(line) ?? []).map((cell) => cell.replaceAll('`', '')));
}
const firstTwo = (heading: string): string[][] => tableOf(heading).map((cells) => cells.slice(0, 2));

const all = { ...manifest.dependencies, ...manifest.devDependencies };
const isAlias = (version: string): boolean => /^(?:npm|file):/.test(version);

for (const [heading, packages] of [
  ['Used by the service', manifest.dependencies],
  ['Used for development', manifest.devDependencies],
] as const)
  test(`"${heading}" lists each package with its licence and reasons (else add a row and run node dev/dependencies.ts)`, (t) => {
    const rows = tableOf(heading);
    t.deepEqual(
      rows.map(([name, licence]) => [name, licence]),
      Object.keys(packages).map((name) => [name, licenceOf(lock, name)]),
    );
    for (const cells of rows) {
      t.is(cells.length, COLUMNS.length);
      t.true(
        cells.every((cell) => cell !== ''),
        cells.join(' | '),
      );
    }
  });

test('each alias and local package is explained', (t) => {
  t.deepEqual(
    firstTwo('Aliases and local packages'),
    Object.entries(all).filter(([, version]) => isAlias(version)),
  );
});

test('each package without a caret range is explained', (t) => {
  t.deepEqual(
    firstTwo('Exact versions'),
    Object.entries(all).filter(([, version]) => !isAlias(version) && !version.startsWith('^')),
  );
});

test('each override is explained', (t) => {
  t.deepEqual(
    firstTwo('Overrides'),
    Object.entries(manifest.overrides).flatMap(([name, replacement]) =>
      typeof replacement === 'string'
        ? [[name, replacement]]
        : Object.entries(replacement).map(([inner, version]) => [`${name} > ${inner}`, version]),
    ),
  );
});

test('each package with an install script is allowed or refused, and explained', (t) => {
  t.deepEqual(
    firstTwo('Install scripts'),
    Object.entries(manifest.allowScripts).map(([name, allowed]) => [name, allowed ? 'yes' : 'no']),
  );
  const scripts = Object.entries(lock)
    .filter(([path, { hasInstallScript }]) => path !== '' && hasInstallScript)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  t.deepEqual([...new Set(scripts)].sort(), Object.keys(manifest.allowScripts).sort());
});
