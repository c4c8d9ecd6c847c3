import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import test from 'ava';
import { loadWorkflowBundle } from '../../workers/bundle.ts';
import { dataConverter } from '../../workers/temporal.ts';
import { KEYRING, readRecording, recordings } from './orchestra.ts';

test.before(() => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
});

/**
 * What ran under an earlier version of the workflow must go on under this one. Recordings are made by
 * `TEST_RECORD=1 ava test/workflows/callTool.test.ts` (or another file there); after a change of the workflow that they do not survive, the
 * change is wrong unless it is behind `patched()`.
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

test('the endings that matter are recorded, sealed', (t) => {
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

test('a workflow that does otherwise than the recording is noticed', async (t) => {
  const { history, workflowId } = readRecording('success', (text) =>
    text.replaceAll('"name": "tool"', '"name": "other"'),
  );
  const workflowBundle = await loadWorkflowBundle((error) => t.log(error));
  const options = { workflowBundle, dataConverter: dataConverter(KEYRING) };
  await t.throwsAsync(Worker.runReplayHistory(options, history, workflowId), {
    name: 'DeterminismViolationError',
  });
});
