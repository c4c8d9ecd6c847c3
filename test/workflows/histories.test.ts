import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import test from 'ava';
import { dataConverter } from '../../platform/temporal/temporal.ts';
import { loadWorkflowBundle } from '../../workers/bundle.ts';
import { KEYRING, readRecording, recordings } from './workflowHarness.ts';

test.before(() => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
});

/**
 * Executions that an earlier version of a workflow started must continue under the current version. `TEST_RECORD=1 ava
 * test/workflows/callTool.test.ts` (or another file of this folder) records the histories. A workflow change that
 * breaks their replay is wrong unless it is guarded by `patched()`.
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
  ...['endpoint-resent', 'endpoint-sending', 'fast', 'fast-refused'],
];

test('histories of all important ways in which a call can end are recorded in encrypted form', (t) => {
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

test('the replay detects a workflow that deviates from its recording', async (t) => {
  const { history, workflowId } = readRecording('success', (text) =>
    text.replaceAll('"name": "tool"', '"name": "other"'),
  );
  const workflowBundle = await loadWorkflowBundle((error) => t.log(error));
  const options = { workflowBundle, dataConverter: dataConverter(KEYRING) };
  await t.throwsAsync(Worker.runReplayHistory(options, history, workflowId), {
    name: 'DeterminismViolationError',
  });
});
