import { AsyncLocalStorage } from 'node:async_hooks';
import { type ConnectionLike, OperatorService, WorkflowService } from '@temporalio/client';
import proto from '@temporalio/proto';
import { untilAborted } from '../../platform/untilAborted.ts';
import { TASK_QUEUES, WORKFLOWS } from '../../workflows/contract.ts';
import type { Intercept } from '../store/intercept.ts';
import { GrpcError, STATUS } from './grpcError.ts';
import type { Temporal } from './temporal.ts';
import { timestamp } from './workflowRun.ts';

const { workflowservice } = proto.temporal.api;
const v1 = workflowservice.v1;
const { Timestamp } = proto.google.protobuf;

type Handler = (request: Uint8Array) => Promise<Uint8Array>;

/** The requests of the clients to the server, each as one step of the schedule; a long poll takes two. */
function handlersOf(temporal: Temporal, step: Intercept): Readonly<Record<string, Handler>> {
  const idOf = ({ workflowId }: { workflowId?: string | null }): string => workflowId ?? '';
  return {
    StartWorkflowExecution: (bytes) =>
      step('start workflow', async () => {
        const request = v1.StartWorkflowExecutionRequest.decode(bytes);
        temporal.start(request);
        return v1.StartWorkflowExecutionResponse.encode({ runId: idOf(request) }).finish();
      }),
    RequestCancelWorkflowExecution: (bytes) =>
      step('cancel workflow', async () => {
        temporal.cancel(idOf(v1.RequestCancelWorkflowExecutionRequest.decode(bytes).workflowExecution ?? {}));
        return v1.RequestCancelWorkflowExecutionResponse.encode({}).finish();
      }),
    DescribeWorkflowExecution: (bytes) =>
      step('describe workflow', async () => {
        const execution = v1.DescribeWorkflowExecutionRequest.decode(bytes).execution ?? {};
        const { status, startedAt } = temporal.find(idOf(execution));
        const info = {
          execution,
          status,
          type: { name: WORKFLOWS.callTool },
          taskQueue: TASK_QUEUES.orchestrator,
          startTime: Timestamp.fromObject(timestamp(startedAt)),
        };
        return v1.DescribeWorkflowExecutionResponse.encode({ workflowExecutionInfo: info }).finish();
      }),
    DeleteWorkflowExecution: (bytes) =>
      step('delete workflow', async () => {
        temporal.delete(idOf(v1.DeleteWorkflowExecutionRequest.decode(bytes).workflowExecution ?? {}));
        return v1.DeleteWorkflowExecutionResponse.encode({}).finish();
      }),
    async GetWorkflowExecutionHistory(bytes) {
      const id = idOf(v1.GetWorkflowExecutionHistoryRequest.decode(bytes).execution ?? {});
      const { promise: isClosed, resolve } = Promise.withResolvers<void>();
      const execution = await step('poll workflow', async () => {
        const found = temporal.find(id);
        if (found.closed === null) found.waiters.add(resolve);
        else resolve();
        return found;
      });
      await isClosed;
      return step('answer the poll', async () =>
        v1.GetWorkflowExecutionHistoryResponse.encode({
          history: { events: execution.closed === null ? [] : [execution.closed] },
        }).finish(),
      );
    },
  };
}

/** A connection of a process to the Temporal server, over which the real client of the SDK sends its requests. */
export function connectTo(temporal: Temporal, step: Intercept): ConnectionLike {
  const signals = new AsyncLocalStorage<AbortSignal>();
  const handlers = handlersOf(temporal, step);
  const workflowService = WorkflowService.create((method, bytes, callback) => {
    const handler = handlers[method.name];
    const signal = signals.getStore();
    const aborted = () => new GrpcError(STATUS.CANCELLED, 'the request was cancelled');
    if (handler === undefined || signal?.aborted) {
      callback(handler === undefined ? new GrpcError(STATUS.UNIMPLEMENTED, method.name) : aborted());
      return;
    }
    const answer = handler(bytes);
    (signal === undefined ? answer : untilAborted(answer, signal)).then(
      (response) => callback(null, response),
      (error: unknown) => callback(error instanceof GrpcError ? error : aborted()),
    );
  });
  return {
    workflowService,
    operatorService: OperatorService.create(() => {
      throw new GrpcError(STATUS.UNIMPLEMENTED, 'no operator service');
    }),
    plugins: [],
    close: async () => undefined,
    ensureConnected: async () => undefined,
    withDeadline: (_deadline, run) => run(),
    withMetadata: (_metadata, run) => run(),
    withAbortSignal: (signal, run) => signals.run(signal, run),
  };
}
