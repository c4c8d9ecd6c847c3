import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import test from 'ava';
import { generatedFiles, projectFile } from '../dev/tables.ts';
import { VARIABLES } from '../schemas/env.ts';
import { PRICES } from './helpers/prices.ts';

const read = (file: string): string => readFileSync(projectFile(file), 'utf8');

const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'test/README.md',
  ...readdirSync(projectFile('docs')).map((name) => `docs/${name}`),
];

/** Returns the anchor that GitHub generates for a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** Removes code blocks, because a comment in a shell script looks like a heading. */
const withoutCode = (text: string): string => text.replaceAll(/^```.*?^```$/gms, '');

const anchorsOf = (file: string): string[] =>
  [...withoutCode(read(file)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

test('no document has two headings of the same text', (t) => {
  for (const document of DOCUMENTS) {
    const anchors = anchorsOf(document);
    t.deepEqual(
      anchors.filter((anchor, index) => anchors.indexOf(anchor) !== index),
      [],
      document,
    );
  }
});

test('the generated tables are up to date (else run npm run docs)', async (t) => {
  for (const { file, actual, expected } of await generatedFiles()) t.is(actual, expected, file);
});

const isEmpty = (value: unknown): boolean =>
  Array.isArray(value) ? value.length === 0 : value instanceof Map && value.size === 0;

test('the configuration guide shows the actual defaults', (t) => {
  const rows = new Map(
    [...read('docs/configuration.md').matchAll(/^\| `(\w+)` +\|.*\| (?:`(.*)`)? *\|$/gm)].map(
      ([, name = '', text = '']) => [name, text],
    ),
  );
  t.deepEqual([...rows.keys()], Object.keys(VARIABLES));
  for (const [name, { parse, fallback }] of Object.entries(VARIABLES)) {
    const shown = rows.get(name);
    // An empty variable counts as unset.
    if (shown === '') t.true(fallback === null || isEmpty(fallback), name);
    else {
      const value: unknown = parse(shown ?? '');
      t.deepEqual(value, fallback, name);
    }
  }
});

test('the README lists every tool of the specification with its price', (t) => {
  const rows = [...read('README.md').matchAll(/^\| `([\w-]+)` +\| +(\d+) \|/gm)];
  const prices = new Map(rows.map(([, tool = '', price]) => [tool, Number(price)]));
  for (const [tool, price] of Object.entries(PRICES)) t.is(prices.get(tool), price, tool);
});

/** Folder that test runs create, so that documents may name files in it. */
const ARTEFACTS = 'test/artefacts';

test('every file that the documents name exists', (t) => {
  for (const document of DOCUMENTS) {
    const named = [
      ...read(document).matchAll(
        /`((?:schemas|platform|store|egress|activities|workflows|api|workers|dev|test|docs|clients)\/[\w./-]*)`/g,
      ),
    ].map(([, path = '']) => path);
    const missing = named.filter((path) => path !== ARTEFACTS && !existsSync(projectFile(path)));
    t.deepEqual(missing, [], document);
    if (document === 'docs/security.md') t.true(named.length > 30);
  }
});

test('every file that the architecture names without its folder exists', (t) => {
  const rooms = [
    'schemas',
    'platform',
    'store',
    'egress',
    'workflows',
    'activities',
    'api',
    'workers',
    'test',
  ];
  const known = new Set(
    rooms.flatMap((room) =>
      readdirSync(projectFile(room), { recursive: true, encoding: 'utf8' }).map((path) => basename(path)),
    ),
  );
  const named = [...read('docs/architecture.md').matchAll(/`([\w-]+\.ts)`/g)].map(([, name = '']) => name);
  t.true(named.length > 5);
  t.deepEqual(
    named.filter((name) => !known.has(name)),
    [],
  );
});

test('CONTRIBUTING.md is one page with three commands, and each addition has three steps', (t) => {
  const text = read('CONTRIBUTING.md');
  t.true(text.split('\n').length <= 90);
  const commands = new Set([...text.matchAll(/`npm (?:run )?([\w:]+)`/g)].map(([, command]) => command));
  t.deepEqual([...commands].sort(), ['docs', 'start', 'test']);
  const additions = [...text.matchAll(/^\*\*(.+)\*\*\n\n((?:\d\. .*\n(?: {3}.*\n)*)+)/gm)];
  t.deepEqual(
    additions.map(([, name = '', steps = '']) => [name, steps.match(/^\d\. /gm)?.length]),
    [
      ['A tool', 3],
      ['An option of a tool', 3],
      ['An error', 3],
      ['An event', 3],
      ['A page of the dashboard', 3],
      ['A pool', 3],
    ],
  );
});

// test/api/docs.test.ts checks links to pages of the site, which begin with a slash.
test('every link between the documents leads to an existing file and heading', (t) => {
  for (const document of DOCUMENTS)
    for (const [, target = ''] of withoutCode(read(document)).matchAll(/\]\((?!https?:|\/)([^)]+)\)/g)) {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? document : normalize(join(dirname(document), path));
      t.true(existsSync(projectFile(file)), `${document}: ${target}`);
      if (anchor !== undefined) t.true(anchorsOf(file).includes(anchor), `${document}: ${target}`);
    }
});

test('every npm script that the documents name exists', (t) => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(read('package.json'));
  const named = DOCUMENTS.flatMap((document) =>
    [...read(document).matchAll(/npm run (?:-s )?([a-z]+)/g)].map(([, script = '']) => script),
  );
  t.true(named.length > 5);
  t.deepEqual(
    named.filter((script) => !Object.hasOwn(scripts, script)),
    [],
  );
});

test('git ignores the secrets of a production stack', (t) => {
  const ignored = read('.gitignore').split('\n');
  for (const path of ['.env', '/secrets/']) t.true(ignored.includes(path), path);
});
