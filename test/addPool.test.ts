import { availableParallelism } from 'node:os';
import test from 'ava';
import { makeAccount } from './helpers/account.ts';
import { recordAt, recordsAt } from './helpers/json.ts';
import { addNewPools, NEW_POOLS, NEW_SLOTS, newPoolFiles } from './helpers/newPools.ts';
import { internalUrlOf } from './helpers/processLog.ts';
import { copyProject, startCopy } from './helpers/projectCopy.ts';

test('a new pool runs calls, and appears on the status page, after one row was added', async (t) => {
  t.timeout(300_000);
  await using owned = new AsyncDisposableStack();
  const folder = await copyProject(t, newPoolFiles());
  await addNewPools(folder);
  const stack = await startCopy(t, owned, folder, ['orchestrator', ...Object.keys(NEW_POOLS)]);
  const account = await makeAccount(stack, 100);
  const catalogue = await (await fetch(`${stack.baseUrl}/api/v1/tools`)).json();
  const status = recordAt(await (await fetch(`${stack.baseUrl}/status.json`)).json());
  for (const [name, { title, tool, confined }] of Object.entries(NEW_POOLS)) {
    const response = await account.call(tool.name, { text: 'to be' });
    t.is(response.status, 200, await response.text());
    t.is(recordsAt(recordAt(catalogue).items).find((item) => item.name === tool.name)?.pool, name);
    t.is(recordsAt(status.components).find(({ id }) => id === name)?.name, title);
    const metrics = await (await fetch(`${await internalUrlOf(stack, name)}/metrics`)).text();
    const [, slots] = /^utility_tools_pool_slots\{.*\} (\d+)$/m.exec(metrics) ?? [];
    // Both lanes, and that of fast tools.
    t.is(Number(slots), 2 * NEW_SLOTS + (confined ? 0 : Math.max(16, 4 * availableParallelism())), name);
  }
});
