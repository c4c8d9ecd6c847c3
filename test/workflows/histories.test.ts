import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import test from 'ava';
import { loadWorkflowBundle } from '../../workers/bundle.ts';
import { dataConverter } from '../../workers/platform/temporal.ts';
import { KEYRING, readRecording, recordings } from './workflowHarness.ts';

test.before(() => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
});

/**
 * Executions that started under an earlier version of a workflow must continue under this one. `TEST_RECORD=1
 * ava test/workflows/callTool.test.ts` (or another file there) makes the recordings. A workflow change that
 * breaks their replay is wrong unless it is behind `patched()`.
 */
for (const { name, workflowId, history } of recordings())
  test(`the recorded history "${name}" replays`, async (t) => {
    const workflowBundle = await loadWorkflowBundle((error) => t.log(error));
    const options = { workflowBundle, dataConverter: dataConverter(KEYRING) };
    await t.notThrowsAsync(Worker.runReplayHistory(options, history, workflowId));
  });

const NAMES = [
  ...['success', 'insufficient', 'host_not_found', 'cancelled', 'pool-busy', 'heartbeat-timeout'],
  ...['settle-retried', 'fired', 'endpoint-late-results', 'endpoint-failing', 'endpoint-disabled'],
];

test('histories of all important endings are recorded, encrypted', (t) => {
  const found = recordings();
  t.deepEqual(
    NAMES.filter((name) => !found.some((recording) => recording.name === name)),
    [],
  );
  for (const { name, text } of found) {
    t.false(text.includes(Buffer.from('made up').toString('base64').slice(0, 8)), name);
    t.true(text.includes(Buffer.from('binary/encrypted').toString('base64')), name);
  }
});

test('a workflow that deviates from its recording is detected', async (t) => {
  const { history, workflowId } = readRecording('success', (text) =>
    text.replaceAll('"name": "tool"', '"name": "other"'),
  );
  const workflowBundle = await loadWorkflowBundle((error) => t.log(error));
  const options = { workflowBundle, dataConverter: dataConverter(KEYRING) };
  await t.throwsAsync(Worker.runReplayHistory(options, history, workflowId), {
    name: 'DeterminismViolationError',
  });
});
