import test from 'ava';
import { makeAccount } from '../helpers/account.ts';
import { useStack } from '../helpers/profiles.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { startStack } from '../helpers/stack.ts';

const PATH = '/api/v1/account/webhooks';
/** Number of concurrent test deliveries: above Temporal's limit of ten updates in flight. */
const AT_ONCE = 25;

test('concurrent test deliveries are sent or refused with 429, and none is sent after an error response', async (t) => {
  t.timeout(240_000);
  await using open = new AsyncDisposableStack();
  const stack = open.adopt(await useStack(), (it) => it.stop());
  const receiver = open.adopt(await startReceiver(), (it) => it.close());
  receiver.answer(() => ({ afterMs: 1000 }));
  const account = await makeAccount(stack, 0);
  const { id } = await (await account.manage(PATH, { url: receiver.url })).json();

  const answers = await Promise.all(
    Array.from({ length: AT_ONCE }, () => account.manage(`${PATH}/${id}/test`, {})),
  );
  const statuses = answers.map(({ status }) => status);
  t.log(statuses.join(' '));
  t.true(statuses.every((status) => status === 200 || status === 429));
  t.true(statuses.filter((status) => status === 200).length >= 10);
  for (const { status, headers } of answers)
    if (status === 429) t.true(Number(headers.get('Retry-After')) > 0);
  // The workflow of the endpoint begins test deliveries in the order of their requests, so one that was to be sent late
  // would have been received before this one is answered.
  t.is((await account.manage(`${PATH}/${id}/test`, {})).status, 200);
  t.is(receiver.received.length, statuses.filter((status) => status === 200).length + 1);
});

test('the Account API sends at most 20 test deliveries at once and 60 per minute', async (t) => {
  t.timeout(240_000);
  await using open = new AsyncDisposableStack();
  const env = { RATE_LIMIT: '1000:1000' };
  const stack = open.adopt(await startStack({ pools: ['orchestrator', 'delivery'], env }), (it) => it.stop());
  const receiver = open.adopt(await startReceiver(), (it) => it.close());
  const account = await makeAccount(stack, 0);
  const { id } = await (await account.manage(PATH, { url: receiver.url })).json();
  const began = Date.now();
  let limited: Response | null = null;
  for (let sent = 0; limited === null && Date.now() - began < 60_000; ) {
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => account.manage(`${PATH}/${id}/test`, {})),
    );
    limited = answers.find(({ status }) => status === 429) ?? null;
    sent += answers.filter(({ status }) => status === 200).length;
    t.true(sent <= 20 + Math.ceil((Date.now() - began) / 1000), `${sent} sent`);
  }
  t.is(limited?.headers.get('Retry-After'), '1');
});
