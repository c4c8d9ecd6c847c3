import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { loadRegistry } from '../../schemas/registry.ts';
import { runsOnThread } from '../../schemas/tool.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { accountOf, auditAccountWhenIdle } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';
import { seededRandom } from '../helpers/random.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { schemathesis } from '../provision/items/schemathesis.ts';

/** Number of random cases per operation; soak tests set a larger number. */
const EXAMPLES = Number(process.env.TEST_EXAMPLES ?? 5);

/**
 * Checks of schemathesis that do not fit this API: it refuses some input that JSON Schema cannot exclude (a cursor of
 * another list, an invalid URL), and accepts unknown headers and extra values in `Authorization`. A revoked key stays
 * in the list, and revoking it again succeeds.
 */
const NOT_CHECKED = 'positive_data_acceptance,negative_data_rejection,use_after_free';

let stack: SharedStack;
let store: Store;
let owner: TestAccount;
let other: TestAccount;

test.before(async () => {
  stack = await useStack();
  store = await openStore(stack.mongodbUri);
  owner = await makeAccount(stack, 100_000);
  other = await makeAccount(stack, 777);
  await other.manage('/api/v1/account/webhooks', { url: 'https://localhost:3999/secret-of-another' });
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

/**
 * Runs schemathesis on the operations whose path matches. @returns the recorded requests and responses in HAR format
 */
async function fuzz(t: ExecutionContext, key: string, paths: string): Promise<string> {
  const seed = seededRandom((line) => t.log(line)).integer(1, 2 ** 31);
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-fuzz-'));
  try {
    const har = join(folder, 'report.har');
    const child = spawn(
      await schemathesis.get((line) => t.log(line)),
      [
        ...['run', `${stack.baseUrl}/openapi.json`, '--header', `Authorization: Bearer ${key}`],
        ...['--include-path-regex', paths, '--max-examples', `${EXAMPLES}`, '--seed', `${seed}`],
        // One worker, because hypothesis parses Python code, and CPython 3.11 miscounts the recursion depth when two
        // threads parse at the same time, which makes an operation fail without a finding.
        ...['--exclude-checks', NOT_CHECKED, '--continue-on-failure', '--no-shrink', '--workers', '1'],
        ...['--request-timeout', '60', '--report-har-path', har],
      ],
      {
        cwd: folder,
        env: { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += String(chunk);
      });
    const [code] = await once(child, 'close');
    if (code !== 0) t.fail(output.slice(-8000));
    const cases = /(\d+) generated/.exec(output)?.[1];
    t.true(Number(cases) > 100, `${cases} cases`);
    return await readFile(har, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test.serial(
  'the Account API, in sequences of requests: no 5xx, no response outside the schema, no data of another account',
  async (t) => {
    t.timeout(600_000);
    const before = await accountOf(store, other.accountId);
    const recorded = await fuzz(t, owner.accountKey, '^/api/v1/account');
    t.false(
      recorded.includes(other.accountId) ||
        recorded.includes(other.email) ||
        recorded.includes('secret-of-another'),
    );
    t.true(recorded.includes(owner.accountId), 'the record contains the responses');
    t.deepEqual(await accountOf(store, other.accountId), before);
    t.is(await store.webhookEndpoints.countDocuments({ accountId: other.accountId }), 1);
  },
);

test.serial('tools without network access: no 5xx, no response outside the schema', async (t) => {
  t.timeout(600_000);
  // Leaves the other tools out, because random input might name a real host.
  const localTools = [...(await loadRegistry()).values()].filter(runsOnThread);
  const names = localTools.map(({ name }) => name).join('|');
  await fuzz(t, owner.toolsKey, `^/api/v1/tools/(${names})$`);
  t.deepEqual(await auditAccountWhenIdle(store, owner.accountId), []);
});
