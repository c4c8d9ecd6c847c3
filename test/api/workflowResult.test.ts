import { randomUUID } from 'node:crypto';
import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import test from 'ava';
import { resultOf } from '../../api/calls/workflowResult.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

let stack: SharedStack;
test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

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
    const start = () =>
      client.workflow.start('unknown', {
        taskQueue: 'without-worker',
        workflowId: `unknown-${randomUUID()}`,
      });

    const handle = await start();
    const ended = t.throwsAsync(resultOf(client, handle, AbortSignal.timeout(60_000)), {
      instanceOf: WorkflowFailedError,
    });
    await until('the first poll is given up', async () => polls.sent > 1);
    t.is(polls.answered, 0);
    await handle.terminate();
    await ended;

    // The workflow never ends.
    const running = await start();
    const { answered } = polls;
    await t.throwsAsync(resultOf(client, running, AbortSignal.timeout(500)));
    t.is(polls.answered, answered, 'the wait ends when aborted');
  } finally {
    await connection.close();
  }
});
