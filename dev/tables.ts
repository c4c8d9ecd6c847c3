import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { VARIABLES } from '../schemas/env.ts';
import { loadRegistry, type Registry } from '../schemas/registry.ts';
import { clientFiles } from './clients/files.ts';
import { figureTable } from './figures.ts';
import { part, whole } from './generatedText.ts';
import { markdownTable } from './markdownTable.ts';
import { MEMORY_VARIABLES } from './memoryVariables.ts';
import { poolUpdates } from './poolUpdates.ts';
import { readResults } from './results.ts';

const priceTable = (registry: Registry): string =>
  markdownTable(
    [{ title: 'Tool' }, { title: 'Credits', numeric: true }, { title: 'Pool' }, { title: 'Title' }],
    [...registry.values()].map(({ name, price, pool, title }) => [`\`${name}\``, `${price}`, pool, title]),
  );

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

function variableTable(): string {
  return markdownTable(
    [{ title: 'Variable' }, { title: 'Description' }, { title: 'Default' }],
    Object.entries(VARIABLES).map(([name, { about, fallback, fallbackText }]) => [
      code(name),
      about,
      code(fallbackText ?? (fallback === null ? '' : String(fallback))),
    ]),
  );
}

const assignments = (variables: Record<string, string>): string =>
  Object.entries(variables)
    .map(([name, value]) => `${name}="${value}"`)
    .join(' ');

/** Returns the absolute path of a file, given its path within the project. */
export const projectFile = (file: string): string => fileURLToPath(new URL(`../${file}`, import.meta.url));

interface GeneratedFile {
  file: string;
  /** Empty if the file does not exist. */
  actual: string;
  expected: string;
}

/** Returns the actual and the expected text of each file that is generated from code, in part or as a whole. */
export async function generatedFiles(): Promise<GeneratedFile[]> {
  const registry = await loadRegistry();
  const updates = [
    part('README.md', 'prices', `\n${priceTable(registry)}\n`),
    part('README.md', 'figures', `\n${figureTable(await readResults())}\n`),
    part('docs/configuration.md', 'variables', `\n${variableTable()}\n`),
    part('Dockerfile', 'memory', `ENV ${assignments(MEMORY_VARIABLES)}`),
    ...poolUpdates(registry),
    ...Object.entries(await clientFiles()).map(([file, text]) => whole(file, text)),
  ];
  const byFile = Map.groupBy(updates, ({ file }) => file);
  return Promise.all(
    [...byFile].map(async ([file, all]) => {
      const actual = await readFile(projectFile(file), 'utf8').catch(() => '');
      return { file, actual, expected: all.reduce((text, { update }) => update(text), actual) };
    }),
  );
}

/** Updates the files of `generatedFiles`. @param log receives a line for each file that changed */
export async function updateGenerated(log: (line: string) => void): Promise<void> {
  for (const { file, actual, expected } of await generatedFiles())
    if (actual !== expected) {
      await writeFile(projectFile(file), expected);
      log(`updated ${file}`);
    }
}
