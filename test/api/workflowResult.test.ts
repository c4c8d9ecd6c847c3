import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import test from 'ava';
import { createCallWorkflow } from '../../api/calls/callWorkflow.ts';
import { useStack } from '../helpers/profiles.ts';
import { until } from '../helpers/until.ts';

const stack = await useStack();
test.after.always(() => stack.stop());

test('the API polls for the end of a workflow at long intervals, in case the Temporal server loses the notification', async (t) => {
  const connection = await Connection.connect({ address: stack.temporalAddress });
  const { workflowService } = connection;
  const poll = workflowService.getWorkflowExecutionHistory.bind(workflowService);
  // The Temporal server itself responds to a poll after 20 s.
  const polls = { sent: 0, answered: 0 };
  Reflect.set(workflowService, 'getWorkflowExecutionHistory', async (request: Parameters<typeof poll>[0]) => {
    polls.sent++;
    const history = await poll(request);
    polls.answered++;
    return history;
  });
  try {
    const client = new Client({ connection, namespace: stack.namespace });
    const workflow = createCallWorkflow(client, (error) => t.fail(String(error)));
    const start = () =>
      client.workflow.start('unknown', { taskQueue: 'without-worker', workflowId: randomUUID() });

    const handle = await start();
    const ended = workflow.result(handle.workflowId, AbortSignal.timeout(60_000));
    await until('the first poll is given up', async () => polls.sent > 1);
    t.is(polls.answered, 0);
    await handle.terminate();
    t.like(await ended, { state: 'failed', refusal: null });

    // The workflow never ends.
    const running = await start();
    const { answered } = polls;
    await t.throwsAsync(workflow.result(running.workflowId, AbortSignal.timeout(500)));
    t.is(polls.answered, answered, 'the wait ends when aborted');
  } finally {
    await connection.close();
  }
});
