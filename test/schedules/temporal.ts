import proto from '@temporalio/proto';
import type { Random } from '../helpers/random.ts';
import type { Scheduler } from '../store/scheduler.ts';
import type { VirtualClock } from './clock.ts';
import { GrpcError, STATUS } from './grpcError.ts';
import { createTool, type ToolTask } from './tool.ts';
import { type Activation, type Command, type Job, timestamp } from './workflowRun.ts';

const { WorkflowExecutionStatus: Status } = proto.temporal.api.enums.v1;
type StatusCode = proto.temporal.api.enums.v1.WorkflowExecutionStatus;
type CloseEvent = proto.temporal.api.history.v1.IHistoryEvent;
type StartRequest = proto.temporal.api.workflowservice.v1.IStartWorkflowExecutionRequest;

/** Timeout in milliseconds of a workflow task: the default of Temporal. */
const TASK_TIMEOUT_MS = 10_000;
const TEMPORAL = 'temporal';

/** A workflow task: what an orchestrator has to work on. */
export interface Task {
  number: number;
  at: number;
  jobs: readonly Job[];
  /** The activations of the completed workflow tasks. */
  history: readonly Activation[];
}

/** The execution of a workflow, as the Temporal server knows it. */
export interface Execution {
  id: string;
  startedAt: number;
  readonly activations: Activation[];
  /** Jobs of events since the last workflow task. */
  pending: Job[];
  task: Task | null;
  tasks: number;
  readonly tools: Map<number, ToolTask>;
  status: StatusCode;
  closed: CloseEvent | null;
  readonly waiters: Set<() => void>;
  isCancelRequested: boolean;
}

/** A worker for workflows. Works on a task in the background, and completes it. */
export interface Orchestrator {
  work(execution: Execution, task: Task): void;
}

interface World {
  scheduler: Scheduler;
  clock: VirtualClock;
  random: Random;
  orchestrator(): Orchestrator;
  /** Whether tools and their workers fail. */
  toolsFail: boolean;
  /** Called each time a tool starts. */
  onTool(callId: string): void;
}

/**
 * The Temporal server: the executions of workflows with their histories, tasks and timeouts. The events that it knows are
 * those that the calls cause.
 */
export class Temporal {
  readonly executions = new Map<string, Execution>();
  /** Calls of which it has reported that their workflow is closed or unknown. */
  readonly reportedOver = new Set<string>();
  /** Calls whose workflow it has forgotten. */
  readonly lost = new Set<string>();
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  #running(id: string): Execution | undefined {
    const execution = this.executions.get(id);
    return execution?.closed ? undefined : execution;
  }

  start(request: StartRequest): void {
    const id = request.workflowId ?? '';
    const { clock } = this.#world;
    const known = this.executions.get(id);
    if (known?.closed) throw new GrpcError(STATUS.ALREADY_EXISTS, 'the workflow has been started');
    if (known !== undefined) return;
    const startedAt = clock.now;
    const init = {
      workflowId: id,
      workflowType: request.workflowType?.name ?? '',
      arguments: request.input?.payloads ?? [],
      randomnessSeed: 1,
      attempt: 1,
      startTime: timestamp(startedAt),
    };
    this.executions.set(id, {
      id,
      startedAt,
      activations: [],
      pending: [],
      task: null,
      tasks: 0,
      tools: new Map(),
      status: Status.WORKFLOW_EXECUTION_STATUS_RUNNING,
      closed: null,
      waiters: new Set(),
      isCancelRequested: false,
    });
    // The schedule may lose the answer to this request, so the history keeps a copy of it.
    this.#add(id, {
      initializeWorkflow: proto.coresdk.workflow_activation.InitializeWorkflow.fromObject(init),
    });
  }

  cancel(id: string): void {
    const execution = this.#running(id);
    if (execution === undefined) throw new GrpcError(STATUS.NOT_FOUND, 'no such running workflow');
    if (execution.isCancelRequested) return;
    execution.isCancelRequested = true;
    this.#add(id, { cancelWorkflow: {} });
  }

  /** @throws GrpcError if there is no such workflow */
  find(id: string): Execution {
    const execution = this.executions.get(id);
    if (execution?.closed !== null) this.reportedOver.add(id);
    if (execution === undefined) throw new GrpcError(STATUS.NOT_FOUND, 'no such workflow');
    return execution;
  }

  /** Ends a workflow from outside, as an operator or a timeout does. */
  terminate(id: string): void {
    this.#close(id, Status.WORKFLOW_EXECUTION_STATUS_TERMINATED, {
      workflowExecutionTerminatedEventAttributes: { reason: 'terminated' },
    });
  }

  /** Ends and forgets a workflow, at the request of a client or because the data of the server is lost. */
  delete(id: string): void {
    this.terminate(id);
    this.executions.delete(id);
    this.lost.add(id);
  }

  #close(id: string, status: StatusCode, event: CloseEvent): void {
    const execution = this.#running(id);
    if (execution === undefined) return;
    execution.status = status;
    execution.closed = event;
    execution.tools.clear();
    execution.task = null;
    for (const wake of execution.waiters) wake();
    execution.waiters.clear();
  }

  /** Adds an event to the history, and a workflow task for it. */
  #add(id: string, job: Job): void {
    const execution = this.#running(id);
    if (execution === undefined) return;
    execution.pending.push(job);
    this.#dispatch(execution);
  }

  #dispatch(execution: Execution): void {
    if (execution.closed || execution.task !== null || execution.pending.length === 0) return;
    this.#give(execution);
  }

  #give(execution: Execution): void {
    const task = this.#createTask(execution);
    this.#world.orchestrator().work(execution, task);
  }

  #createTask(execution: Execution): Task {
    const { clock } = this.#world;
    const task: Task = {
      number: ++execution.tasks,
      at: clock.now,
      jobs: execution.pending.splice(0),
      history: [...execution.activations],
    };
    execution.task = task;
    clock.set(TEMPORAL, TASK_TIMEOUT_MS, () => {
      if (execution.task === task) this.#repeat(execution, task);
    });
    return task;
  }

  /** Ends a workflow task without effect; its events, and those that came in the meantime, are the next task. */
  #repeat(execution: Execution, task: Task): void {
    execution.pending.unshift(...task.jobs);
    this.#give(execution);
  }

  #assertCurrent(execution: Execution, task: Task): void {
    if (execution.task !== task || this.executions.get(execution.id) !== execution)
      throw new GrpcError(STATUS.NOT_FOUND, 'the workflow task has timed out');
  }

  /**
   * Records what a task has brought that is not complete. Returns the task that replaces it, with the new events. @throws
   * GrpcError if it has timed out
   */
  heartbeat(
    execution: Execution,
    task: Task,
    activations: readonly Activation[],
    commands: readonly Command[],
  ): Task {
    this.#record(execution, task, activations, commands);
    return this.#createTask(execution);
  }

  /** Completes a workflow task. @throws GrpcError if it has timed out */
  complete(
    execution: Execution,
    task: Task,
    activations: readonly Activation[],
    commands: readonly Command[],
  ): void {
    this.#assertCurrent(execution, task);
    const ends = commands.some(
      (command) =>
        command.completeWorkflowExecution ?? command.failWorkflowExecution ?? command.cancelWorkflowExecution,
    );
    if (ends && execution.pending.length > 0) {
      // The server lets no workflow end that has not seen all events.
      this.#repeat(execution, task);
      return;
    }
    this.#record(execution, task, activations, commands);
    this.#dispatch(execution);
  }

  #record(
    execution: Execution,
    task: Task,
    activations: readonly Activation[],
    commands: readonly Command[],
  ): void {
    this.#assertCurrent(execution, task);
    execution.activations.push(...activations);
    // The commands may cause events, for which there is no other task yet.
    for (const command of commands) this.#obey(execution, command);
    execution.task = null;
  }

  #obey(execution: Execution, command: Command): void {
    const { id, tools } = execution;
    const { scheduleActivity, requestCancelActivity, startChildWorkflowExecution } = command;
    const { completeWorkflowExecution, failWorkflowExecution, cancelWorkflowExecution } = command;
    if (scheduleActivity) {
      const seq = scheduleActivity.seq ?? 0;
      const task = createTool(this.#world, id, scheduleActivity, (result) => {
        if (tools.get(seq) !== task) return;
        tools.delete(seq);
        this.#add(id, { resolveActivity: { seq, result } });
      });
      tools.set(seq, task);
      task.dispatch();
    }
    if (requestCancelActivity) {
      const seq = requestCancelActivity.seq ?? 0;
      tools.get(seq)?.cancel();
    }
    if (startChildWorkflowExecution) {
      const { seq = 0 } = startChildWorkflowExecution;
      this.#add(id, { resolveChildWorkflowExecutionStart: { seq, succeeded: { runId: `child of ${id}` } } });
    }
    if (completeWorkflowExecution) {
      const { result } = completeWorkflowExecution;
      this.#close(id, Status.WORKFLOW_EXECUTION_STATUS_COMPLETED, {
        workflowExecutionCompletedEventAttributes: { result: { payloads: result ? [result] : [] } },
      });
    }
    if (failWorkflowExecution)
      this.#close(id, Status.WORKFLOW_EXECUTION_STATUS_FAILED, {
        workflowExecutionFailedEventAttributes: { failure: failWorkflowExecution.failure ?? null },
      });
    if (cancelWorkflowExecution)
      this.#close(id, Status.WORKFLOW_EXECUTION_STATUS_CANCELED, {
        workflowExecutionCanceledEventAttributes: {},
      });
  }
}
