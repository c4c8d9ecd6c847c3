import { createServer } from 'node:http';
import { makeAccount, type TestAccount } from '../../helpers/account.ts';
import { listen } from '../../helpers/egress.ts';
import { type Receiver, startReceiver } from '../../helpers/receiver.ts';
import { type Stack, type StackOptions, startStack } from '../../helpers/stack.ts';
import { BROKEN_PATH, bodyOf, HELD_PATH } from './kinds.ts';

/** Enough attempts that no delivery fails for good. */
const SCHEDULE = '100ms,200ms,500ms,1s,2s,2s,2s,2s,2s,2s,2s,2s';

/** Server that http-request connects to. */
export interface Target {
  origin: string;
  /** Number of POST requests by the last part of their path. */
  posts: Map<string, number>;
  /** Ids of the requests that it received on `HELD_PATH`. */
  held: Set<string>;
}

/** A stack whose requests and webhooks to the outside are recorded. */
export interface ObservedStack {
  stack: Stack;
  target: Target;
  receiver: Receiver;
  /** Creates an account with an endpoint at `receiver`, on the path /<account id>. */
  makeAccount(credits: number): Promise<TestAccount>;
}

async function startTarget(open: AsyncDisposableStack): Promise<Target> {
  const posts = new Map<string, number>();
  const held = new Set<string>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const id = path.split('/').at(-1) ?? '';
    if (request.method === 'POST') posts.set(id, (posts.get(id) ?? 0) + 1);
    if (path.startsWith(HELD_PATH)) held.add(id);
    else if (path.startsWith(BROKEN_PATH)) request.socket.destroy();
    else response.setHeader('Content-Type', 'text/plain').end(bodyOf(path));
  });
  const port = await listen(server);
  open.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${port}`, posts, held };
}

/** The first attempt of each tenth event fails. */
async function startFlakyReceiver(open: AsyncDisposableStack): Promise<Receiver> {
  const receiver = open.adopt(await startReceiver(), (it) => it.close());
  const failedOnce = new Set<string>();
  receiver.answer(({ id }) => {
    const fails = id.endsWith('0') && !failedOnce.has(id);
    failedOnce.add(id);
    return { status: fails ? 500 : 200 };
  });
  return receiver;
}

async function makeOwner(stack: Stack, receiver: Receiver, credits: number): Promise<TestAccount> {
  const account = await makeAccount(stack, credits);
  const url = new URL(account.accountId, receiver.url).href;
  const made = await account.manage('/api/v1/account/webhooks', { url });
  if (made.status !== 201) throw new Error(`webhook: ${made.status} ${await made.text()}`);
  return account;
}

/** Starts two API processes and the workers of the calls of `kinds.ts`. Disposing `open` stops them. */
export async function startObservedStack(
  open: AsyncDisposableStack,
  { servers, env = {} }: Pick<StackOptions, 'servers' | 'env'> = {},
): Promise<ObservedStack> {
  const target = await startTarget(open);
  const receiver = await startFlakyReceiver(open);
  const stack = open.adopt(
    await startStack({
      apis: 2,
      ...(servers !== undefined && { servers }),
      pools: ['orchestrator', 'cpu', 'network', 'delivery'],
      env: { ...env, EGRESS_ALLOW: new URL(target.origin).host, WEBHOOK_RETRY_SCHEDULE: SCHEDULE },
    }),
    (it) => it.stop(),
  );
  return { stack, target, receiver, makeAccount: (credits) => makeOwner(stack, receiver, credits) };
}
