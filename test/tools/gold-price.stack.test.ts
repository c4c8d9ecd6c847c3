import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { startService } from '../../dev/stack.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { FX, GOLD, startFeed } from '../helpers/feed.ts';
import { recordAt } from '../helpers/json.ts';
import { auditWhenIdle } from '../helpers/ledgerCheck.ts';
import { backdateQuotes } from '../helpers/quotes.ts';
import { startOwnServers, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const MINUTE = 60_000;

test('two workers return the last good quote during a feed outage and after restarts of the database and the workers', async (t) => {
  await using open = new AsyncDisposableStack();
  const feed = open.adopt(await startFeed(), (it) => it.close());
  const servers = open.adopt(await startOwnServers(), (it) => it.stop());
  const stack = open.adopt(
    await startStack({ servers, pools: ['orchestrator', 'network'], env: feed.env }),
    (it) => it.stop(),
  );
  const second = open.adopt(
    await startService({
      env: stack.env,
      pools: ['network'],
      apis: 0,
      logDir: join(stack.dataDir, 'second'),
      log: (line) => t.log(line),
    }),
    (it) => it.stop(),
  );
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const account = await makeAccount(stack, 1_000);

  async function rupees() {
    const response = await account.call('gold-price', { currency: 'PKR' });
    const { pricePerOunce, stale, asOfUtc } = recordAt(await response.json());
    return { status: response.status, pricePerOunce, stale, asOfUtc };
  }
  const untilFresh = () => until('the quote is fresh', async () => (await rupees()).stale === false);
  const many = () => Promise.all(Array.from({ length: 20 }, rupees));
  const good = { status: 200, pricePerOunce: 2592.48, stale: false, asOfUtc: '2025-01-15T00:00:00.000Z' };

  for (const round of [1, 2]) {
    for (const answer of await many()) t.like(answer, { ...good, stale: answer.stale });
    await untilFresh();
    t.deepEqual([...feed.requested].sort(), [...Array(round).fill(GOLD), ...Array(round).fill(FX)]);
    await backdateQuotes(store, MINUTE);
  }
  t.is(feed.mostAtOnce(), 1);
  await second.kill('network');
  await untilFresh(); // the remaining worker is enough to refresh the quote

  // The egress rules permit the feed's address for the price feeds only; requests of callers to it must be refused.
  const refused = await account.call('http-request', { url: `${feed.env.GOLD_FEED_URL}${GOLD}` });
  t.is(recordAt(await refused.json()).code, 'target_refused');

  let over = false;
  const seen: Awaited<ReturnType<typeof rupees>>[] = [];
  const calling = (async () => {
    for (; !over; await sleep(20)) seen.push(await rupees());
  })();
  await feed.stop();
  await backdateQuotes(store, MINUTE);
  const before = seen.length;
  await until('calls were answered without the feed', async () => seen.length > before + 20);
  over = true;
  await calling;
  for (const answer of seen) t.like(answer, { ...good, stale: answer.stale });
  const stale = { ...good, stale: true };
  t.deepEqual(await rupees(), stale);

  await servers.mongod.kill();
  await stack.kill('network');
  await servers.mongod.start();
  await stack.restart('network');
  t.deepEqual(await rupees(), stale, 'the last good quote survives a restart of the processes');
  await feed.restart();
  await backdateQuotes(store, MINUTE);
  await untilFresh();
  t.deepEqual(await auditWhenIdle(store), []);
});
