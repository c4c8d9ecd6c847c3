import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { MongoClient } from 'mongodb';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { recordAt, recordsAt } from '../helpers/json.ts';
import { accountOf, auditWhenIdle } from '../helpers/ledgerCheck.ts';
import { type Stack, startOwnServers, startStack } from '../helpers/stack.ts';
import { type Link, startToxiproxy } from '../helpers/toxiproxy.ts';
import { until } from '../helpers/until.ts';
import { callOnce } from './calls.ts';

const CREDITS = 1000;
/**
 * Milliseconds within which the service must detect the start or end of an outage, with a margin for loaded machines.
 */
const NOTICED_MS = 60_000;
/** Timeout in milliseconds of a caller that disconnects long before the call's deadline. */
const SHORT_TIMEOUT_MS = 2000;
const BLIP_MS = 4000;
/** How often the connections are closed during calls, so that some close while a command is being sent. */
const CUTS = 10;
const CUT_MS = 200;
const CALLS_PER_CUT = 20;

interface Fault {
  name: string;
  /** Name of the check in /readyz that must fail. */
  server: 'mongodb' | 'temporal';
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
}

/** Returns faults in which a server accepts connections but never responds, or responds much too late. */
const linkFaults = (server: Fault['server'], link: Link): Fault[] => [
  {
    name: `${server} does not respond`,
    server,
    begin: () => link.poison({ type: 'timeout', attributes: { timeout: 0 } }),
    end: link.heal,
  },
  {
    name: `${server} responds after 16 s`,
    server,
    begin: () => link.poison({ type: 'latency', attributes: { latency: 8000, jitter: 0 } }),
    end: link.heal,
  },
];

/** Returns a fault in which MongoDB has no primary: it answers pings, but refuses reads and writes. */
function withoutPrimary(uri: string): Fault {
  const admin = async (command: Record<string, unknown>) => {
    const { host } = new URL(uri);
    const client = new MongoClient(`mongodb://${host}/`, { directConnection: true });
    try {
      await client.db('admin').command(command);
    } finally {
      await client.close();
    }
  };
  return {
    name: 'mongodb returns errors',
    server: 'mongodb',
    begin: () => admin({ replSetStepDown: 600, force: true }),
    end: () => admin({ replSetFreeze: 0 }),
  };
}

/**
 * Returns a fault in which a table is missing from Temporal's database: Temporal responds from its memory cache and
 * returns errors for everything else.
 */
function withoutTable(file: string): Fault {
  const alter = async (sql: string) => {
    using db = new DatabaseSync(file, { timeout: 10_000, enableDoubleQuotedStringLiterals: true });
    db.exec(sql);
  };
  return {
    name: 'temporal returns errors',
    server: 'temporal',
    begin: () => alter('ALTER TABLE namespaces RENAME TO gone'),
    end: () => alter('ALTER TABLE gone RENAME TO namespaces'),
  };
}

async function readyz({ baseUrl }: Stack) {
  const response = await fetch(`${baseUrl}/readyz`);
  const body: unknown = await response.json();
  return { checks: recordAt(body, 'checks') };
}

async function statusOf({ baseUrl }: Stack) {
  const status = recordAt(await (await fetch(`${baseUrl}/status.json`)).json());
  return { components: recordsAt(status.components), historyCurrent: status.historyCurrent };
}

const callWithin = (account: TestAccount, { baseUrl }: Stack, ms: number): Promise<number | null> =>
  fetch(`${baseUrl}/api/v1/tools/hash-text`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.toolsKey}`, 'Content-Type': 'application/json' },
    body: '{"text":"short timeout"}',
    signal: AbortSignal.timeout(ms),
  }).then(
    ({ status }) => status,
    () => null,
  );

test('when a server does not work, /readyz reports it and calls are refused before their deadline', async (t) => {
  t.timeout(900_000);
  await using open = new AsyncDisposableStack();
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'utility-tools-outages-')), (it) =>
    rm(it, { recursive: true, force: true }),
  );
  const servers = open.adopt(await startOwnServers(folder), (it) => it.stop());
  const [dataDir = ''] = await readdir(folder);
  const { links, stop } = await startToxiproxy(
    { mongodb: new URL(servers.mongodbUri).host, temporal: servers.temporalAddress },
    (line) => t.log(line),
  );
  open.defer(stop);
  const stack = open.adopt(
    await startStack({
      // A direct connection, because otherwise the driver would discover the replica set member's own address and
      // bypass the proxy.
      servers: {
        mongodbUri: `mongodb://${links.mongodb.address}/?directConnection=true`,
        temporalAddress: links.temporal.address,
      },
      pools: ['orchestrator', 'cpu'],
    }),
    (it) => it.stop(),
  );
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const [account, shortTimeout] = [await makeAccount(stack, CREDITS), await makeAccount(stack, CREDITS)];
  let charged = 0;
  const call = async (text: string, key: string | null = null) => {
    const response = await callOnce(account, text, key);
    t.is(response?.status, 200, text);
    t.is(response?.headers.get('X-Credits-Charged'), '1', text);
    charged += 1;
  };
  await call('before');

  for (const [name, link] of Object.entries(links)) {
    await link.cut();
    const waiting = Array.from({ length: 5 }, (_, i) => call(`${name} is disconnected briefly ${i}`));
    if (name === 'mongodb') await sleep(BLIP_MS / 2);
    else await sleep(BLIP_MS);
    await link.heal();
    await Promise.all(waiting);

    for (let cut = 0; cut < CUTS; cut++) {
      const running = Array.from({ length: CALLS_PER_CUT }, (_, i) => call(`${name}, cut ${cut}, call ${i}`));
      await sleep(cut * 10);
      await link.cut();
      await sleep(CUT_MS);
      await link.heal();
      await Promise.all(running);
    }
  }

  const faults = [
    withoutPrimary(servers.mongodbUri),
    withoutTable(join(folder, dataDir, 'temporal.sqlite')),
    ...linkFaults('mongodb', links.mongodb),
    ...linkFaults('temporal', links.temporal),
  ];
  for (const { name, server, begin, end } of faults) {
    await begin();
    const began = Date.now();
    // Temporal's slow responses may start the call before the outage is detected.
    const early =
      server === 'temporal' && !name.includes('after') ? callOnce(account, `early, ${name}`, null) : null;
    try {
      await until(
        `${name}: /readyz reports it`,
        async () => {
          // Compares only the checks of the servers: the status is always 503, because most pools do not run in this
          // test.
          const { checks } = await readyz(stack);
          return checks[server] === 'failed';
        },
        NOTICED_MS,
      );
      t.log(`${name}: /readyz after ${Date.now() - began} ms`);
      await until(
        `${name}: the status page reports it`,
        async () => {
          const { components, historyCurrent } = await statusOf(stack);
          // A member of the replica set without a primary still answers reads.
          const isReadable = server !== 'mongodb' || name === 'mongodb returns errors';
          const state = components.find(({ id }) => id === server)?.state;
          return state === 'failed' && historyCurrent === isReadable;
        },
        NOTICED_MS,
      );
      await until(
        `${name}: calls are refused`,
        async () => (await callWithin(shortTimeout, stack, SHORT_TIMEOUT_MS)) === 503,
        NOTICED_MS,
      );
      t.log(`${name}: calls refused after ${Date.now() - began} ms`);
      const sent = Date.now();
      const refused = await callOnce(account, name, name.replaceAll(' ', '-'));
      const tookMs = Date.now() - sent;
      t.is(refused?.status, 503, name);
      t.is(recordAt(await refused?.json()).code, 'tool_unavailable', name);
      t.regex(refused?.headers.get('Retry-After') ?? '', /^\d+$/, name);
      t.log(`${name}: a refusal took ${tookMs} ms`);
      if (early !== null) {
        const response = await early;
        t.is(response?.status, 503, `${name}: a call that was waiting for its start`);
        t.is(response?.headers.get('X-Credits-Charged'), '0', name);
        t.log(`${name}: the waiting call was refused at most ${Date.now() - began} ms after the fault`);
      }
    } finally {
      await end();
    }
    const ended = Date.now();
    await until(
      `${name}: the service has recovered`,
      async () =>
        (await readyz(stack)).checks[server] === 'ok' &&
        (await callWithin(shortTimeout, stack, NOTICED_MS)) === 200,
      NOTICED_MS,
    );
    t.log(`${name}: calls succeed again ${Date.now() - ended} ms after its end`);
    await call(name, name.replaceAll(' ', '-'));
  }

  const days = await store.statusDays.find().toArray();
  t.true(
    days.some(({ ok }) => (ok?.api ?? 0) > 0),
    'the API has recorded its checks',
  );
  await until('queues are sampled again', async () => (await store.poolSamples.countDocuments()) > 0);
  t.deepEqual(await auditWhenIdle(store), []);
  t.is((await accountOf(store, account.accountId)).balance, CREDITS - charged);
});
