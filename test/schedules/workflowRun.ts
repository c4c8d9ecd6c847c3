import './workflowGlobals.ts';
import { TypedSearchAttributes } from '@temporalio/common';
import proto from '@temporalio/proto';
import { setActivator } from '@temporalio/workflow/lib/global-attributes.js';
import { Activator } from '@temporalio/workflow/lib/internals.js';
import { activate, concludeActivation, initialize } from '@temporalio/workflow/lib/worker-interface.js';
import { callTool } from '../../workflows/callTool.ts';
import { TASK_QUEUES, WORKFLOWS } from '../../workflows/contract.ts';
import type { VirtualClock } from './clock.ts';

const { WorkflowActivation } = proto.coresdk.workflow_activation;
export type Job = proto.coresdk.workflow_activation.IWorkflowActivationJob;
export type Command = proto.coresdk.workflow_commands.IWorkflowCommand;

/** What the core of the SDK gives a workflow to do at once. */
export interface Activation {
  /** Time of the workflow task in milliseconds since the Unix epoch. */
  at: number;
  jobs: readonly Job[];
}

export const timestamp = (ms: number) => ({
  seconds: Math.floor(ms / 1000),
  nanos: Math.round((ms % 1000) * 1_000_000),
});

/** Resolves when all promises that do not wait for anything outside have been settled. */
const settled = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/** The SDK knows only one workflow at a time; the next one waits for the end of this promise. */
let turn = Promise.resolve();

/**
 * One execution of the workflow `callTool` by the SDK's own runtime for workflows, outside the sandbox of the SDK, whose
 * globals of its own take milliseconds to create.
 */
export class WorkflowRun {
  readonly #clock: VirtualClock;
  readonly #activator: Activator;

  /** @param startedAt milliseconds since the Unix epoch */
  constructor(clock: VirtualClock, workflowId: string, startedAt: number) {
    this.#clock = clock;
    const startTime = new Date(startedAt);
    this.#activator = new Activator({
      info: {
        workflowId,
        runId: workflowId,
        firstExecutionRunId: workflowId,
        originalExecutionRunId: workflowId,
        workflowType: WORKFLOWS.callTool,
        namespace: 'schedules',
        taskQueue: TASK_QUEUES.orchestrator,
        searchAttributes: {},
        typedSearchAttributes: new TypedSearchAttributes([]),
        attempt: 1,
        taskTimeoutMs: 10_000,
        startTime,
        runStartTime: startTime,
        historyLength: 3,
        historySize: 1000,
        continueAsNewSuggested: false,
        targetWorkerDeploymentVersionChanged: false,
        unsafe: {
          now: () => startedAt,
          random: { random: () => 0.5, uuid4: () => workflowId, fillRandom: (bytes) => bytes },
          isReplaying: false,
          isReplayingHistoryEvents: false,
        },
      },
      now: startedAt,
      randomnessSeed: [1],
      showStackTraceSources: false,
      sourceMap: { file: '', version: 3, sources: [], names: [], mappings: '' },
      getTimeOfDay: () => 0n,
      registeredActivityNames: new Set(['reserve', 'settle', 'http-request']),
      stackTracesEnabled: false,
    });
    this.#activator.workflow = callTool;
  }

  /** Lets the workflow continue with these jobs until it waits again. Returns the commands that it gives. */
  async activate(activation: Activation, isReplaying: boolean): Promise<readonly Command[]> {
    const previous = turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    turn = promise;
    await previous;
    setActivator(this.#activator);
    try {
      return await this.#activate(activation, isReplaying);
    } finally {
      setActivator(undefined);
      resolve();
    }
  }

  async #activate({ at, jobs }: Activation, isReplaying: boolean): Promise<readonly Command[]> {
    const activator = this.#activator;
    this.#clock.runAt(`workflow ${activator.info.workflowId}`, at, () => {
      activator.now = at;
      activator.mutateWorkflowInfo((info) => ({ ...info, unsafe: { ...info.unsafe, isReplaying } }));
      const started = jobs.find(({ initializeWorkflow }) => initializeWorkflow != null)?.initializeWorkflow;
      if (started) initialize(started);
      activate(WorkflowActivation.fromObject({ timestamp: timestamp(at), isReplaying, jobs }));
    });
    await settled();
    activator.maybeRethrowWorkflowTaskError();
    return concludeActivation().successful?.commands ?? [];
  }
}
