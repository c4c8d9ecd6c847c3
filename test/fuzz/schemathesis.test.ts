import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { loadRegistry } from '../../schemas/registry.ts';
import { openStore, type Store } from '../../store/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { accountOf, closeBooks } from '../helpers/books.ts';
import { seededRandom } from '../helpers/random.ts';
import { findSchemathesis } from '../helpers/schemathesis.ts';
import { type Stack, startStack } from '../helpers/stack.ts';

/** Random cases an operation; the soak has more. */
const EXAMPLES = Number(process.env.TEST_EXAMPLES ?? 5);

/**
 * What JSON Schema cannot say is refused by rules of our own (a cursor of another list, a URL that is none), and an
 * unknown header, or one key more in `Authorization`, is not refused at all. A key that was revoked stays in the list, and
 * to revoke it again is no fault.
 */
const NOT_CHECKED = 'positive_data_acceptance,negative_data_rejection,use_after_free';

let stack: Stack;
let store: Store;
let owner: TestAccount;
let other: TestAccount;

test.before(async () => {
  stack = await startStack({ pools: ['orchestrator', 'cpu', 'delivery'] });
  store = await openStore(stack.mongodbUri);
  owner = await makeAccount(stack, 100_000);
  other = await makeAccount(stack, 777);
  await other.manage('/api/v1/account/webhooks', { url: 'https://localhost:3999/secret-of-another' });
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

/** @returns the requests and answers as schemathesis recorded them */
async function fuzz(t: ExecutionContext, key: string, paths: string): Promise<string> {
  const seed = seededRandom((line) => t.log(line)).integer(1, 2 ** 31);
  const folder = await mkdtemp(join(tmpdir(), 'utility-tools-fuzz-'));
  try {
    const har = join(folder, 'report.har');
    const child = spawn(
      await findSchemathesis((line) => t.log(line)),
      [
        ...['run', `${stack.baseUrl}/openapi.json`, '--header', `Authorization: Bearer ${key}`],
        ...['--include-path-regex', paths, '--max-examples', `${EXAMPLES}`, '--seed', `${seed}`],
        // One worker: hypothesis parses code, and Python 3.11 miscounts its recursion when two threads do (cpython 106905).
        // That fails an operation, with nothing to show for it.
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
  'the Account API, in sequences: no 5xx, no answer outside the schema, nothing of another account',
  async (t) => {
    t.timeout(600_000);
    const before = await accountOf(store, other.accountId);
    const seen = await fuzz(t, owner.accountKey, '^/api/v1/account');
    t.false(
      seen.includes(other.accountId) || seen.includes(other.email) || seen.includes('secret-of-another'),
    );
    t.true(seen.includes(owner.accountId), 'the record holds the answers');
    t.deepEqual(await accountOf(store, other.accountId), before);
    t.is(await store.webhookEndpoints.countDocuments({ accountId: other.accountId }), 1);
  },
);

test.serial('tools that reach nothing outside: no 5xx, no answer outside the schema', async (t) => {
  t.timeout(600_000);
  // Of the others a random input might name a real host.
  const inside = [...(await loadRegistry()).values()].filter(({ pool, thread = pool === 'cpu' }) => thread);
  const names = inside.map(({ name }) => name).join('|');
  await fuzz(t, owner.toolsKey, `^/api/v1/tools/(${names})$`);
  t.deepEqual(await closeBooks(store), []);
});
