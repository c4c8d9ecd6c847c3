import test from 'ava';
import { RESENDS_PER_DAY } from '../../api/webhooks/resendLimit.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const WEBHOOKS = '/api/v1/account/webhooks';
const KEYS = '/api/v1/account/keys';
const SINCE = { since: new Date(Date.now() - 3_600_000).toISOString() };

test('an account, and all accounts together, resend and test a limited number of deliveries a day', async (t) => {
  t.timeout(240_000);
  await using open = new AsyncDisposableStack();
  const env = { RATE_LIMIT: '1000:1000' };
  const stack = open.adopt(await startStack({ pools: ['orchestrator', 'delivery'], env }), (it) => it.stop());
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const receiver = open.adopt(await startReceiver(), (it) => it.close());

  /** Creates an owner of an endpoint with this many failed deliveries. */
  async function makeOwner(failed: number) {
    const { accountId, manage } = await makeAccount(stack, 0);
    const { id } = await (await manage(WEBHOOKS, { url: receiver.url })).json();
    for (let event = 0; event < failed; event++) await manage(KEYS, { name: 'x', scopes: ['tools'] });
    const rows = { endpointId: id, state: 'delivered' } as const;
    await until('all are delivered', async () => (await store.deliveries.countDocuments(rows)) >= failed);
    await store.deliveries.updateMany(rows, { $set: { state: 'failed' } });
    const post = (action: string, body: Record<string, unknown>) =>
      manage(`${WEBHOOKS}/${id}/${action}`, body);
    return { accountId, post };
  }
  /** Makes as if the account (or `all`) had resent this many deliveries today, and its day ended in an hour. */
  async function setResent(name: string, deliveries: number): Promise<void> {
    const expire = new Date(Date.now() + 3_600_000);
    const counters = store.db.collection('attempts');
    await counters.updateOne({ key: name }, { $set: { points: deliveries, expire } }, { upsert: true });
  }
  async function assertLimited(response: Response, detail: RegExp): Promise<void> {
    t.is(response.status, 429);
    const seconds = Number(response.headers.get('Retry-After'));
    t.true(seconds > 3000 && seconds <= 3600, `${seconds}`);
    const problem = await response.json();
    t.is(problem.code, 'rate_limited');
    t.regex(problem.detail, detail);
  }

  const { accountId, post } = await makeOwner(4);
  const other = await makeOwner(1);
  await setResent(`resend:${accountId}`, RESENDS_PER_DAY.account - 2);
  t.deepEqual(await (await post('resend', SINCE)).json(), { queued: 2 });
  await assertLimited(await post('resend', SINCE), /^An account can resend and test 2000 deliveries/);
  await assertLimited(await post('test', {}), /^An account/);
  const [row] = await store.deliveries.find({ accountId, state: 'failed' }).toArray();
  await assertLimited(await post('resend', { deliveryIds: [row?._id] }), /^An account/);
  t.is(await store.deliveries.countDocuments({ accountId, state: 'failed' }), 2);

  // A resend that queues nothing, and one that is refused for another reason, take nothing of the limit.
  const past = { since: new Date(Date.now() + 3_600_000).toISOString() };
  await setResent(`resend:${accountId}`, RESENDS_PER_DAY.account - 1);
  t.deepEqual(await (await post('resend', past)).json(), { queued: 0 });
  t.deepEqual(await (await post('resend', { deliveryIds: [row?._id] })).json(), { queued: 1 });

  t.is((await other.post('test', {})).status, 200);
  await setResent('resend-of:all', RESENDS_PER_DAY.installation);
  await assertLimited(await other.post('test', {}), /^All accounts together can resend and test 200000/);
  await setResent('resend-of:all', 0);
  t.deepEqual(await (await other.post('resend', SINCE)).json(), { queued: 1 });
});
