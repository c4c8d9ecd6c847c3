import { availableParallelism, cpus, loadavg } from 'node:os';
import { installTestPrograms } from '../../dev/programs/tools.ts';
import { readResults, saveResults } from '../../dev/results.ts';
import { updateGenerated } from '../../dev/tables.ts';
import { runMain } from '../../platform/runMain.ts';
import { compareGoals, type Goal } from './goals.ts';
import { createSections } from './sections.ts';
import { FULL } from './sizes.ts';
import { startSubjects } from './subjects.ts';

const round = (value: number) => Math.round(value * 100) / 100;
const rounded = (table: object): unknown =>
  JSON.parse(JSON.stringify(table), (_, value: unknown) =>
    typeof value === 'number' ? round(value) : value,
  );

/** With `--save`, the figures replace those of earlier runs in `results.json` and in the README. */
const isSaving = process.argv.includes('--save');
const wanted = process.argv.slice(2).filter((it) => it !== '--save');
const unknown = wanted.filter((name) => !(name in FULL));
if (unknown.length > 0)
  throw new Error(`Unknown section ${unknown.join(', ')}. Choose from: ${Object.keys(FULL).join(', ')}`);

async function main(): Promise<void> {
  await installTestPrograms(console.log);
  await using open = new AsyncDisposableStack();
  const goals: Goal[] = [];
  const sections = createSections(await startSubjects(open), FULL, goals);

  const results: Record<string, unknown> = {};
  const failed: string[] = [];
  for (const [name, section] of Object.entries(sections)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const load = loadavg().map(round);
    const began = performance.now();
    try {
      const table = await section();
      const seconds = Math.round((performance.now() - began) / 1000);
      console.log(`\n${name} (${seconds} s; load before it: ${load.join(' ')})`);
      console.table(rounded(table));
      results[name] = { load, table };
    } catch (error) {
      // The other sections are still measured, but goals of this one are missing from the table.
      console.error(`\n${name} failed:`, error);
      failed.push(name);
    }
  }
  console.log('\ngoals');
  const saved = Object.entries(await readResults()).map(([figure, { value }]) => [figure, value] as const);
  console.table(compareGoals(goals, Object.fromEntries(saved)));
  if (isSaving) {
    await saveResults(goals);
    await updateGenerated(console.log);
  }
  if (failed.length > 0) {
    console.log(`\nSections that failed, whose goals are missing: ${failed.join(', ')}`);
    process.exitCode = 1;
  }
  const machine = { cores: availableParallelism(), model: cpus()[0]?.model };
  console.log(JSON.stringify({ machine, node: process.version, sizes: FULL, ...results }));
}

await runMain(main);
