import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (...path: string[]): string => readFileSync(join(root, ...path), 'utf8');

const NOTICES = 'LICENSES/sharp-libvips';
/** Cells of the rows of a Markdown table, without its head. */
const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/^\| (.+) \|$/gm)]
    .map(([, row = '']) => row.split(' | ').map((cell) => cell.trim()))
    .slice(1);
const rows = rowsOf(read(NOTICES, 'README.md'))
  .filter(([library]) => !library?.startsWith('---'))
  .map(([library = '', key = '', terms = '']) => {
    const [, name = '', file = ''] = /^\[(.+)\]\((.+)\)$/.exec(library) ?? [];
    return { name, file, key: key.replaceAll('`', ''), terms };
  });

/** The packages with libvips that npm installed, one for each C library of this system. */
const packages = readdirSync(join(root, 'node_modules/@img'))
  .filter((name) => name.startsWith('sharp-libvips-'))
  .map((name) => join('node_modules/@img', name));

test('the notices name the libraries of the installed libvips with the terms of their use', (t) => {
  t.true(packages.length > 0);
  for (const folder of packages) {
    const installed = rowsOf(read(folder, 'README.md')).map(([name = '', terms = '']) => [name, terms]);
    t.deepEqual(
      rows.map(({ name, terms }) => [name, terms]),
      installed,
    );
    const versions: Record<string, string> = JSON.parse(read(folder, 'versions.json'));
    t.deepEqual(rows.flatMap(({ key }) => (key === '' ? [] : [key])).sort(), Object.keys(versions).sort());
  }
});

test('each library has the text of its licence, with a copyright notice', (t) => {
  for (const { name, file, terms } of rows) {
    t.is(file, terms === 'LGPLv3' ? 'LGPL-3.0.txt' : `${name}.txt`);
    t.regex(read(NOTICES, file), /copyright|©|\(c\)/i, name);
  }
  t.regex(read(NOTICES, 'LGPL-3.0.txt'), /GNU LESSER GENERAL PUBLIC LICENSE\s+Version 3/);
  t.regex(read(NOTICES, 'GPL-3.0.txt'), /GNU GENERAL PUBLIC LICENSE\s+Version 3/);
});

test('every image contains the licences', (t) => {
  const [, base = ''] = /^FROM \S+ AS base\n([\s\S]*?)^FROM /m.exec(read('Dockerfile')) ?? [];
  t.regex(base, /^COPY LICENSE \.\/$/m);
  t.regex(base, /^COPY LICENSES \.\/LICENSES$/m);
  const sent = read('.dockerignore').split('\n');
  for (const path of ['!LICENSE', '!LICENSES']) t.true(sent.includes(path), path);
});
