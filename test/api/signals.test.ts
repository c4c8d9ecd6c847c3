import test from 'ava';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { readEnv } from '../../schemas/env.ts';
import { workflowIds } from '../../workflows/contract.ts';
import { makeAccount } from '../helpers/account.ts';
import { batchesOf } from '../helpers/batches.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { useStack } from '../helpers/profiles.ts';
import { schedulesOf } from '../helpers/schedules.ts';
import { until } from '../helpers/until.ts';

// Without workers, the history of a workflow consists of its start and its signals.

const JOB = { tool: 'hash-text', input: { text: 'abc' } };
const REPEATS = 20;

const stack = await useStack('limited');
const env = readEnv(stack.env);
const client = await connectClient(env, loadKeyring(env));
test.after.always(async () => {
  await client.connection.close();
  await stack.stop();
});

/** Waits until a workflow has been signalled, and returns the number of events of its history. */
const signalled = (id: string): Promise<number> =>
  until(`${id} is signalled`, async () => {
    const workflow = await client.workflow
      .getHandle(id)
      .describe()
      .catch(() => null);
    return workflow !== null && workflow.historyLength > 1 && workflow.historyLength;
  });

test('a repeated request for a job, a batch or a run of a schedule sends no signal', async (t) => {
  const account = await makeAccount(stack, 100);
  const jobs = jobsOf(account, stack.baseUrl);
  const batches = batchesOf(account, stack.baseUrl);
  const schedules = schedulesOf(account, stack.baseUrl);
  const key = { 'Idempotency-Key': 'k' };
  const batch = { tool: JOB.tool, inputs: [JOB.input] };
  const job = await jobs.create(JOB, key);
  await batches.create(batch, key);
  const { id } = await schedules.create({ name: 'rare', cron: '30 4 29 2 *', job: JOB });
  await schedules.trigger(id, key);
  const [queue, runs] = [workflowIds.accountJobs(account.accountId), workflowIds.scheduleRuns(id)];
  await until('the batch is signalled too', async () => (await signalled(queue)) > 3);
  const before = await Promise.all([signalled(queue), signalled(runs)]);
  for (let count = 0; count < REPEATS / 4; count++) {
    t.is((await jobs.create(JOB, key)).id, job.id);
    await batches.create(batch, key);
    await schedules.trigger(id, key);
  }
  // A signal that is sent afterwards arrives after theirs.
  await jobs.create(JOB);
  await schedules.trigger(id);
  const after = () => Promise.all([signalled(queue), signalled(runs)]);
  const [ofQueue = 0, ofRuns = 0] = before;
  await until('the last signals arrive', async () => {
    const [queued, run] = await after();
    return queued > ofQueue && run > ofRuns;
  });
  t.deepEqual(await after(), [ofQueue + 1, ofRuns + 1]);
});

test('a batch that is resumed again and again sends few signals', async (t) => {
  const account = await makeAccount(stack, 100);
  const batches = batchesOf(account, stack.baseUrl);
  const { id } = await batches.create({ tool: JOB.tool, inputs: [JOB.input] });
  const queue = workflowIds.accountJobs(account.accountId);
  const before = await signalled(queue);
  const began = performance.now();
  await batches.act(id, 'pause');
  const resume = async () => {
    for (let count = 0; count < REPEATS / 4; count++)
      t.is((await batches.act(id, 'resume')).state, 'running');
  };
  await Promise.all(Array.from({ length: 4 }, resume));
  await jobsOf(account, stack.baseUrl).create(JOB);
  await until('the signal of the job arrives', async () => (await signalled(queue)) > before);
  const seconds = (performance.now() - began) / 1000;
  t.true((await signalled(queue)) <= before + 2 + seconds / 2, `${await signalled(queue)} events`);
});
