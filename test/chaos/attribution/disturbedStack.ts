import { createServer } from 'node:http';
import { makeAccount, type TestAccount } from '../../helpers/account.ts';
import { listen } from '../../helpers/egress.ts';
import { type Receiver, startReceiver } from '../../helpers/receiver.ts';
import { type Stack, startOwnServers, startStack } from '../../helpers/stack.ts';
import { startToxiproxy } from '../../helpers/toxiproxy.ts';
import { createClock } from '../clock.ts';
import { mountDisk } from '../smallDisk.ts';
import type { Targets } from './faults.ts';
import { BROKEN_PATH, bodyOf } from './kinds.ts';

/** Only the used part takes memory. */
const DISK = '16g';
/** Enough attempts that no delivery fails for good. */
const SCHEDULE = '100ms,200ms,500ms,1s,2s,2s,2s,2s,2s,2s,2s,2s';

/** Server that http-request connects to. */
export interface Target {
  origin: string;
  /** Number of POST requests by the last part of their path. */
  posts: Map<string, number>;
}

async function startTarget(open: AsyncDisposableStack): Promise<Target> {
  const posts = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const id = path.split('/').at(-1) ?? '';
    if (request.method === 'POST') posts.set(id, (posts.get(id) ?? 0) + 1);
    if (path.startsWith(BROKEN_PATH)) request.socket.destroy();
    else response.setHeader('Content-Type', 'text/plain').end(bodyOf(path));
  });
  const port = await listen(server);
  open.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${port}`, posts };
}

export interface DisturbedStack extends Targets {
  target: Target;
  receiver: Receiver;
  /** The stack's database, by a connection that is not disturbed. */
  mongodbUri: string;
  /** Creates an account with an endpoint at `receiver`, on the path /<account id>. */
  makeAccount(credits: number): Promise<TestAccount>;
}

async function makeOwner(stack: Stack, receiver: Receiver, credits: number): Promise<TestAccount> {
  const account = await makeAccount(stack, credits);
  const url = new URL(account.accountId, receiver.url).href;
  const made = await account.manage('/api/v1/account/webhooks', { url });
  if (made.status !== 201) throw new Error(`webhook: ${made.status} ${await made.text()}`);
  return account;
}

/** Starts the whole stack so that everything in it can be disturbed. It ends with `open`. */
export async function startDisturbedStack(
  open: AsyncDisposableStack,
  log: (line: string) => void,
): Promise<DisturbedStack> {
  const target = await startTarget(open);
  const receiver = open.adopt(await startReceiver(), (it) => it.close());
  const clock = await createClock(open);
  const disk = await mountDisk(open, DISK);
  const servers = open.adopt(await startOwnServers(disk.path), (it) => it.stop());
  const { links } = open.adopt(
    await startToxiproxy(
      { mongodb: new URL(servers.mongodbUri).host, temporal: servers.temporalAddress },
      log,
    ),
    (it) => it.stop(),
  );
  const stack = open.adopt(
    await startStack({
      apis: 2,
      servers: {
        // A direct connection; otherwise the driver would learn the member's own address and bypass the proxy.
        mongodbUri: `mongodb://${links.mongodb.address}/?directConnection=true`,
        temporalAddress: links.temporal.address,
      },
      pools: ['orchestrator', 'cpu', 'network', 'delivery'],
      env: {
        ...clock.env,
        EGRESS_ALLOW: new URL(target.origin).host,
        WEBHOOK_RETRY_SCHEDULE: SCHEDULE,
      },
    }),
    (it) => it.stop(),
  );
  const direct = new URL(servers.mongodbUri);
  direct.pathname = new URL(stack.mongodbUri).pathname;
  return {
    target,
    receiver,
    clock,
    disk,
    servers,
    links,
    stack,
    mongodbUri: direct.href,
    makeAccount: (credits) => makeOwner(stack, receiver, credits),
  };
}
