import { Client, Connection } from '@temporalio/client';
import test from 'ava';
import { createHandOver } from '../../api/handOver.ts';
import { until } from '../helpers/books.ts';
import { startNamespace } from '../helpers/stack.ts';

test('however many events an account has at once, two workflows take them all', async (t) => {
  await using open = new AsyncDisposableStack();
  const { temporalAddress, namespace } = open.adopt(await startNamespace(), (it) => it.stop());
  const connection = open.adopt(await Connection.connect({ address: temporalAddress }), (it) => it.close());
  const client = new Client({ connection, namespace });
  const handOver = createHandOver(client, (error) => t.fail(String(error)));
  const started = async () => (await client.workflow.count("WorkflowType = 'handOver'")).count;

  for (let event = 0; event < 1000; event++) handOver('acc_busy');
  handOver('acc_other');
  await until('both accounts are seen to', async () => (await started()) === 3);
  // What comes later is late for those.
  handOver('acc_busy');
  await until('the latest event is seen to', async () => (await started()) > 3);
  t.is(await started(), 4);
});
