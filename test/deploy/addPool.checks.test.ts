import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { addNewPools, NEW_POOLS, newPoolFiles } from '../helpers/newPools.ts';
import { copyProject, runIn } from '../helpers/projectCopy.ts';
import { helm } from '../provision/items/helm.ts';

/** The checks of everything outside the code that lists the pools. */
const CHECKS = [
  'test/pools.test.ts',
  'test/chart.test.ts',
  'test/compose.test.ts',
  'test/deploy/chart.rendered.test.ts',
  'test/deploy/prometheus.test.ts',
  'test/workers/certificates.test.ts',
  'test/workflows/lanes.test.ts',
];

test("a new pool is one row and `npm run docs`: types and the project's own checks pass", async (t) => {
  t.timeout(900_000);
  await helm.get((line) => t.log(line));
  const folder = await copyProject(t, newPoolFiles());
  await addNewPools(folder);
  const read = (path: string) => readFile(join(folder, path), 'utf8');
  await t.throwsAsync(runIn(folder, ['node_modules/.bin/ava', 'test/compose.test.ts']), undefined, 'control');

  await runIn(folder, ['dev/docs.ts']);
  t.is(await runIn(folder, ['dev/docs.ts']), '', 'nothing is left to update');
  for (const name of Object.keys(NEW_POOLS))
    for (const path of ['docs/operations.md', 'docs/architecture.md'])
      t.regex(await read(path), new RegExp(`^\\| \`${name}\` `, 'm'), path);
  t.is(await runIn(folder, ['node_modules/.bin/tsc']), '');
  t.regex(await runIn(folder, ['node_modules/.bin/ava', ...CHECKS]), /^ +\d+ tests passed$/m);
});
