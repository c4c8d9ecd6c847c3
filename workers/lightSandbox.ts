import { promiseHooks } from 'node:v8';
import { Script } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded before everything else (`node --import`) by a worker that runs workflows, in its threads too. Takes off the SDK's
 * sandbox what costs the most and cannot be switched off there: a thread for each step of a workflow, to stop one that
 * never ends, and a stack trace for each promise, to answer the query `__stack_trace`. Together 12 of the 40 ms of CPU
 * that a call costs the orchestrator. A workflow of ours that never ends would hang its worker instead of failing; the
 * query answers nothing.
 */
function lighten(): void {
  const { runInContext } = Script.prototype;
  Script.prototype.runInContext = function run(context, options) {
    if (typeof options !== 'object') return runInContext.call(this, context, options);
    const { timeout: _watched, ...unwatched } = options;
    return runInContext.call(this, context, unwatched);
  };
  promiseHooks.createHook = () => () => undefined;
}

if (!isMainThread) lighten();
