import { globSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { markdownTable } from './markdownTable.ts';
import { projectFile } from './tables.ts';

/** An entry of package-lock.json. */
interface LockedPackage {
  version?: string;
  license?: string;
  hasInstallScript?: boolean;
  /** Whether the path is a link to the folder `resolved`. */
  link?: boolean;
  resolved?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** Packages by their path in the project, such as `node_modules/koa`. */
type Lock = Readonly<Record<string, LockedPackage>>;

export const readLock = (file: string): Lock => {
  const { packages }: { packages: Lock } = JSON.parse(readFileSync(projectFile(file), 'utf8'));
  return packages;
};

/** Column titles of the tables of packages in docs/dependencies.md. */
export const COLUMNS = ['Package', 'Licence', 'Packages', 'MB', 'What for, and why this one', 'Drop it when'];

/** Returns the path at which Node.js finds a package from the folder of another one, or null if npm did not install it. */
function find(lock: Lock, name: string, from: string): string | null {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (Object.hasOwn(lock, path)) return path;
    if (folder === '') return null;
  }
}

/** Returns the paths of a dependency and of all packages that it needs, without peer dependencies. */
function closure(lock: Lock, name: string): Set<string> {
  const paths = new Set<string>();
  const open = [find(lock, name, '')];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (path === null || paths.has(path)) continue;
    paths.add(path);
    const { resolved = '', link } = lock[path] ?? {};
    // A link leads to a package of this project, whose dependencies are installed beside those of the project.
    const entry = link ? lock[resolved] : lock[path];
    const from = link ? '' : path;
    const needed = { ...entry?.dependencies, ...entry?.optionalDependencies };
    open.push(...Object.keys(needed).map((needs) => find(lock, needs, from)));
  }
  return paths;
}

/** Returns the size of the files of a package in bytes, without the packages in its own node_modules. */
const sizeOf = (path: string): number =>
  globSync('**', { cwd: projectFile(path), exclude: ['node_modules'], withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((size, entry) => size + lstatSync(join(entry.parentPath, entry.name)).size, 0);

/** Returns the licence of a dependency by package-lock.json. Packages of this project have that of the project. */
export const licenceOf = (lock: Lock, name: string): string => {
  const entry = lock[`node_modules/${name}`];
  return entry?.link ? 'MIT' : (entry?.license ?? '');
};

/** Returns the cells of a table row, or null for other lines. */
export const cellsOf = (line: string): string[] | null =>
  /^\| (.*) \|$/
    .exec(line)?.[1]
    ?.split(' | ')
    .map((cell) => cell.trim()) ?? null;

/** Returns a table of packages with current licences, numbers of packages and sizes. */
function updateTable(lines: readonly string[], installed: Lock): string {
  const rows = lines.slice(2).map((line) => {
    const [shown = '', , , , purpose = '', until = ''] = cellsOf(line) ?? [];
    const name = shown.replaceAll('`', '');
    const paths = [...closure(installed, name)];
    const bytes = paths.reduce((sum, path) => sum + sizeOf(path), 0);
    return [shown, licenceOf(installed, name), `${paths.length}`, (bytes / 1e6).toFixed(1), purpose, until];
  });
  const columns = COLUMNS.map((title) =>
    ['Packages', 'MB'].includes(title) ? ({ title, numeric: true } as const) : { title },
  );
  return markdownTable(columns, rows);
}

/** Run by hand after a change of dependencies: updates licences, numbers of packages and sizes in docs/dependencies.md. */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const installed = readLock('node_modules/.package-lock.json');
  const file = projectFile('docs/dependencies.md');
  const tables = /^\| Package +\| Licence .*\n(?:\|.*\n)+/gm;
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(tables, (table) => `${updateTable(table.trimEnd().split('\n'), installed)}\n`),
  );
}
