import './workflowGlobals.ts';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import test from 'ava';
import { seededRandom } from '../helpers/random.ts';
import { openDatabases } from '../store/ledgerFixtures.ts';
import type { findFault } from './explore.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The folders that a schedule runs, and those of its own. */
const FOLDERS = [
  ...['api', 'activities/ledger', 'platform', 'schemas', 'store', 'workflows'],
  ...['test/helpers', 'test/schedules', 'test/store', 'dev', 'package.json'],
];
/** Number of schedules in which a bug must be found: about ten times as many as the rarest bug needs on average. */
const ENOUGH = 20_000;

/** Bugs: a description, the file, the replaced text, and its replacement. */
const MUTANTS: [what: string, file: string, from: string, to: string][] = [
  [
    'a charge that does not compare the nonce of the hold',
    'store/ledger/ledger.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    '{ $eq: [`${hold}.nonce`, settlement.nonce] }',
    '{ $not: isMissing(hold) }',
  ],
  [
    'a hold for a call whose end is in the journal',
    'store/ledger/ledger.ts',
    "          hasNotEnded(callId),\n          { $eq: ['$shortfall', 0] },",
    "          { $eq: ['$shortfall', 0] },",
  ],
  [
    'a sweeper that takes an error of Temporal for the end of a workflow',
    'activities/ledger/scheduledActivities.ts',
    '    if (error instanceof WorkflowNotFoundError) return true;\n    throw error;',
    '    return true;',
  ],
  [
    'a result that counts as delivered before its last byte',
    'api/calls/answer.ts',
    'ended(response.writableFinished)',
    'ended(true)',
  ],
  [
    'a lost connection that returns credits although another response has the result',
    'api/calls/refunds.ts',
    'if (!(await answers.lost(row._id, pending))) return;',
    'await answers.lost(row._id, pending);',
  ],
  [
    'a response to a form that is forgotten when the form is sent again',
    'store/calls/pendingAnswers.ts',
    '{ earlier: ALL_RESPONSES }',
    '{ earlier: [] }',
  ],
  [
    'a return of credits that leaves the charge in the journal to the spend of the key',
    'store/accounts/accounts.ts',
    "cond: { $ne: ['$$entry.callId', callId] }",
    'cond: true',
  ],
];

test('bugs in the ledger, the sweeper and the responses are found', async (t) => {
  t.timeout(MUTANTS.length * 600_000);
  const random = seededRandom((line) => t.log(line));
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const folder = await mkdtemp(join(tmpdir(), 'mutants-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const survivors: string[] = [];
  for (const [index, [what, file, from, to]] of MUTANTS.entries()) {
    const copy = join(folder, `${index}`);
    for (const part of FOLDERS) await cp(join(ROOT, part), join(copy, part), { recursive: true });
    const source = await readFile(join(copy, file), 'utf8');
    t.is(source.split(from).length, 2, `${what}: the text occurs once`);
    await writeFile(
      join(copy, file),
      source.replace(from, () => to),
    );
    const mutant: { findFault: typeof findFault } = await import(
      pathToFileURL(join(copy, 'test/schedules/explore.ts')).href
    );
    const seeds = Array.from({ length: ENOUGH }, () => random.integer(1, 2 ** 31));
    const found = await mutant.findFault(store, seeds);
    if (found === null) survivors.push(what);
    else t.log(`${what}: schedule ${seeds.indexOf(found.seed) + 1}, ${found.faults.join('; ')}`);
  }
  t.deepEqual(survivors, []);
});
