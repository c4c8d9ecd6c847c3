import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import test from 'ava';
import { resultOf } from '../../api/calls/workflowResult.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';

let stack: SharedStack;
test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

/**
 * Milliseconds in which the API's first polls happen; below the 20 s after which the Temporal server itself responds to
 * a poll.
 */
const FIRST_POLLS_MS = 8000;

test('the API polls for the end of a workflow at long intervals, in case the Temporal server loses the notification', async (t) => {
  const connection = await Connection.connect({ address: stack.temporalAddress });
  const { workflowService } = connection;
  const poll = workflowService.getWorkflowExecutionHistory.bind(workflowService);
  let polls = 0;
  Reflect.set(workflowService, 'getWorkflowExecutionHistory', (request: Parameters<typeof poll>[0]) => {
    polls++;
    return poll(request);
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
    await sleep(FIRST_POLLS_MS);
    t.true(polls > 1 && polls < 5, `${polls} polls`);
    await handle.terminate();
    await ended;

    // The workflow never ends, and the server would answer the poll only after 20 s.
    const running = await start();
    const started = performance.now();
    await t.throwsAsync(resultOf(client, running, AbortSignal.timeout(500)));
    t.true(performance.now() - started < 15_000, 'the wait ends when aborted');
  } finally {
    await connection.close();
  }
});
