import { request } from 'node:http';
import test from 'ava';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, auditWhenIdle } from '../helpers/ledgerCheck.ts';
import { type Stack, startStack } from '../helpers/stack.ts';

/** Number of concurrent callers. */
const CALLERS = 6;
const CREDITS = 1_000_000;
const PRICES = { 'hash-text': 1, 'bcrypt-hash': 2 } as const;

interface Result {
  status: number;
  body: string;
}

/** Sends one POST request on a new connection. */
const post = (url: string, headers: Record<string, string>, body: string): Promise<Result> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent: false, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
      );
    });
    sent.once('error', reject);
    sent.end(body);
  });

/**
 * Sends a call to the first API process that can be reached, as a load balancer does. A failed request is sent to the
 * next API process only if the service did not receive it: when a listening socket closes, the kernel resets the
 * connections in its backlog, which no process has accepted.
 */
async function balance(
  { baseUrls }: Stack,
  turn: number,
  tool: string,
  headers: Record<string, string>,
  body: string,
  isKnown: () => Promise<boolean>,
): Promise<Result> {
  for (let i = 0; ; i++) {
    try {
      return await post(`${baseUrls[(turn + i) % baseUrls.length]}/api/v1/tools/${tool}`, headers, body);
    } catch (error) {
      if (i >= baseUrls.length || (await isKnown())) throw error;
    }
  }
}

test('no call fails while each process is restarted in turn under load', async (t) => {
  t.timeout(300_000);
  await using open = new AsyncDisposableStack();
  const stack = open.adopt(
    await startStack({ apis: 2, pools: ['orchestrator', 'cpu'], env: { LOG_LEVEL: 'info' } }),
    (it) => it.stop(),
  );
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, CREDITS);

  let over = false;
  let spent = 0;
  const failed: Result[] = [];
  const caller = async (number: number) => {
    for (let turn = number; !over; turn++) {
      const tool = turn % 3 === 0 ? 'bcrypt-hash' : 'hash-text';
      const input = tool === 'hash-text' ? { text: `${turn}` } : { password: `${turn}`, workFactor: 10 };
      const key = `${number}-${turn}`;
      const headers = {
        Authorization: `Bearer ${account.toolsKey}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': key,
      };
      const isKnown = async () =>
        (await store.calls.findOne({ accountId: account.accountId, 'idempotency.key': key })) !== null;
      const result = await balance(stack, turn, tool, headers, JSON.stringify(input), isKnown);
      if (result.status === 200) spent += PRICES[tool];
      else failed.push(result);
    }
  };
  const callers = Array.from({ length: CALLERS }, (_, i) => caller(i));
  try {
    for (const name of stack.names) {
      await stack.kill(name, 'SIGTERM');
      await stack.restart(name);
    }
  } finally {
    over = true;
  }
  await Promise.all(callers);
  t.deepEqual(failed, []);
  t.true(spent > CALLERS * stack.names.length, `there was load: ${spent} credits`);
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - spent);
  t.deepEqual(await auditWhenIdle(store), []);
});
