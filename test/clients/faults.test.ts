import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { UtilityTools } from '../../clients/typescript/src/index.ts';
import { machineEnv } from '../../dev/host.mjs';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { findTestPython } from '../helpers/clientPackages.ts';
import { FAULTS, type FaultyProxy, startFaultyProxy } from '../helpers/faultyProxy.ts';
import { accountOf, auditAccountWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';
import { seededRandom } from '../helpers/random.ts';
import type { SharedStack } from '../helpers/stack.ts';

/** Calls of each client; soak tests make more. */
const CALLS = Number(process.env.TEST_CLIENT_CALLS ?? 150);
const AT_ONCE = 8;
/** With so many retries, the proxy disturbs every attempt of a call in only one of 10^18 cases. */
const MAX_RETRIES = 60;

/** The result of one call as its caller sees it. */
interface Seen {
  text: string;
  hash: string;
  charged: number;
}

let stack: SharedStack;
let store: Store;
let proxy: FaultyProxy;

test.before(async (t) => {
  stack = await useStack();
  store = await openStore(stack.mongodbUri);
  proxy = await startFaultyProxy(
    stack.baseUrl,
    seededRandom((line) => t.log(line)),
  );
});
test.after.always(async () => {
  proxy?.close();
  await store?.close();
  await stack?.stop();
});

/** Checks that each call has its result and was charged exactly once. */
async function assertExact(
  t: ExecutionContext,
  { accountId }: TestAccount,
  seen: readonly Seen[],
): Promise<void> {
  t.is(seen.length, CALLS, 'no result is lost');
  for (const { text, hash, charged } of seen) {
    t.is(hash, createHash('sha256').update(text).digest('hex'));
    t.is(charged, 1);
  }
  t.deepEqual(await auditAccountWhenIdle(store, accountId), []);
  const charged = (await callsOf(store, accountId)).filter(({ state }) => state === 'charged');
  t.is(charged.length, CALLS, 'no call is charged twice');
  t.is((await accountOf(store, accountId)).balance, CALLS, 'the account began with twice as many credits');
  for (const fault of FAULTS) t.true((proxy.counts.get(fault) ?? 0) > 0, fault);
  t.log(JSON.stringify(Object.fromEntries(proxy.counts)));
  proxy.counts.clear();
}

test.serial(
  'TypeScript: behind a faulty proxy, no result is lost and no call is charged twice',
  async (t) => {
    t.timeout(120_000 + CALLS * 1000);
    const owner = await makeAccount(stack, 2 * CALLS);
    const client = new UtilityTools({
      apiKey: owner.toolsKey,
      baseUrl: proxy.baseUrl,
      maxRetries: MAX_RETRIES,
      retryDelayMs: 1,
    });
    const waiting = Array.from({ length: CALLS }, (_, number) => `call ${number}`);
    const seen: Seen[] = [];
    const work = async () => {
      for (let text = waiting.pop(); text !== undefined; text = waiting.pop()) {
        const { output, credits } = await client.hashText({ text });
        seen.push({ text, hash: output.hash, charged: credits.charged });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    await assertExact(t, owner, seen);
  },
);

test.serial('Python: behind a faulty proxy, no result is lost and no call is charged twice', async (t) => {
  t.timeout(900_000 + CALLS * 1000);
  const owner = await makeAccount(stack, 2 * CALLS);
  const python = await findTestPython((line) => t.log(line));
  const { stdout } = await promisify(execFile)(
    python,
    [fileURLToPath(new URL('faults.py', import.meta.url))],
    {
      env: {
        ...machineEnv(),
        PYTHONPATH: fileURLToPath(new URL('../../clients/python/src', import.meta.url)),
        PYTHONDONTWRITEBYTECODE: '1',
        API_KEY: owner.toolsKey,
        BASE_URL: proxy.baseUrl,
        CALLS: String(CALLS),
        AT_ONCE: String(AT_ONCE),
        MAX_RETRIES: String(MAX_RETRIES),
      },
      maxBuffer: 64_000_000,
    },
  );
  const seen: Seen[] = JSON.parse(stdout);
  await assertExact(t, owner, seen);
});

test.serial(
  'a call with a password is never charged twice, and the error of a retry reports a lost result',
  async (t) => {
    t.timeout(120_000);
    const rounds = 15;
    const owner = await makeAccount(stack, 1000);
    const client = new UtilityTools({
      apiKey: owner.toolsKey,
      baseUrl: proxy.baseUrl,
      maxRetries: 12,
      retryDelayMs: 1,
    });
    const outcomes = await Promise.all(
      Array.from({ length: rounds }, () =>
        client.bcryptHash({ password: 'x', workFactor: 4 }).then(
          () => 'result',
          (error: { code?: string; name: string }) => error.code ?? error.name,
        ),
      ),
    );
    t.deepEqual(await auditAccountWhenIdle(store, owner.accountId), []);
    const charged = (await callsOf(store, owner.accountId)).filter(({ state }) => state === 'charged').length;
    const results = outcomes.filter((outcome) => outcome === 'result').length;
    t.true(charged >= results && charged <= rounds, `${charged} charged, ${results} results`);
    const others = outcomes.filter((outcome) => outcome !== 'result');
    t.true(
      others.every((outcome) => ['idempotency_key_used', 'ConnectionError'].includes(outcome)),
      others.join(),
    );
    t.true(results > 0);
  },
);
