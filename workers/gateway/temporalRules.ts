import proto from '@temporalio/proto';
import { lanesOf, type Pool } from '../../schemas/pools.ts';
import { toolQueue } from '../../workflows/contract.ts';
import { GrpcError, STATUS } from './grpc.ts';
import type { TaskTokens } from './taskTokens.ts';

const {
  DescribeNamespaceRequest,
  PollActivityTaskQueueRequest,
  PollActivityTaskQueueResponse,
  RecordActivityTaskHeartbeatRequest,
  RecordWorkerHeartbeatRequest,
  RespondActivityTaskCanceledRequest,
  RespondActivityTaskCompletedRequest,
  RespondActivityTaskFailedRequest,
  ShutdownWorkerRequest,
} = proto.temporal.api.workflowservice.v1;

/** What a method may do: checks and completes the request, and completes the response. */
interface Rule {
  request(message: Buffer, pool: Pool): Uint8Array;
  response?(message: Buffer, pool: Pool): Uint8Array;
}

/** A request type with the fields that the rules read. */
interface Type<T> {
  decode(message: Uint8Array): T;
  encode(fields: Partial<T>): { finish(): Uint8Array };
}

const denied = (what: string): GrpcError =>
  new GrpcError(STATUS.denied, `the gateway does not permit ${what}`);

/**
 * The requests that a worker of a pool needs to take tasks from its own queue, by method of Temporal's WorkflowService.
 * Temporal's stock server authorizes by namespace only. Every other method is refused: a worker that is taken over cannot
 * read histories, start or signal workflows, or take and answer tasks of other pools.
 *
 * Fields are appended to the encoded message instead of encoding it again, so that fields that this version of the SDK does
 * not know are kept: of a repeated singular field, the last value counts (Protocol Buffers, "Last One Wins").
 */
export function createRules(namespace: string, tokens: TaskTokens): Readonly<Record<string, Rule>> {
  function decode<T>(type: Type<T>, message: Buffer): T {
    try {
      return type.decode(message);
    } catch (error) {
      throw new GrpcError(STATUS.invalid, 'the message is not valid', { cause: error });
    }
  }
  const append = <T>(type: Type<T>, message: Buffer, fields: Partial<T>): Buffer =>
    Buffer.concat([message, type.encode(fields).finish()]);
  /** Permits a request in the service's own namespace. */
  function own<T extends { namespace?: string | null }>(type: Type<T>, message: Buffer): T {
    const request = decode(type, message);
    if (request.namespace !== namespace) throw denied('another namespace');
    return request;
  }
  /** Permits a request about a task that the pool has received. */
  const task = <T extends { namespace?: string | null; taskToken?: Uint8Array | null }>(
    type: Type<T>,
  ): Rule => ({
    request(message, pool) {
      const { taskToken } = own(type, message);
      const token = tokens.open(pool, taskToken ?? new Uint8Array());
      if (token === null) throw denied('an answer to this task');
      const fields: Partial<T> = {};
      fields.taskToken = token;
      return append(type, message, fields);
    },
  });

  return {
    GetSystemInfo: { request: (message) => message },
    DescribeNamespace: {
      request: (message) => {
        if (own(DescribeNamespaceRequest, message).id) throw denied('another namespace');
        return message;
      },
    },
    PollActivityTaskQueue: {
      request(message, pool) {
        const wanted = own(PollActivityTaskQueueRequest, message).taskQueue?.name;
        const name = lanesOf(pool)
          .map((lane) => toolQueue(pool, lane))
          .find((queue) => queue === wanted);
        if (name === undefined) throw denied(`the task queue ${wanted}`);
        return append(PollActivityTaskQueueRequest, message, { namespace, taskQueue: { name } });
      },
      response(message, pool) {
        const { taskToken } = decode(PollActivityTaskQueueResponse, message);
        // A poll that found no task has an empty response.
        if (!taskToken || taskToken.length === 0) return message;
        return append(PollActivityTaskQueueResponse, message, { taskToken: tokens.seal(pool, taskToken) });
      },
    },
    RecordActivityTaskHeartbeat: task(RecordActivityTaskHeartbeatRequest),
    RespondActivityTaskCanceled: task(RespondActivityTaskCanceledRequest),
    RespondActivityTaskCompleted: task(RespondActivityTaskCompletedRequest),
    RespondActivityTaskFailed: task(RespondActivityTaskFailedRequest),
    RecordWorkerHeartbeat: {
      request: (message) => {
        own(RecordWorkerHeartbeatRequest, message);
        return message;
      },
    },
    ShutdownWorker: {
      request(message) {
        // The sticky queue is that of a worker that runs workflows.
        if (own(ShutdownWorkerRequest, message).stickyTaskQueue) throw denied('a sticky queue');
        return message;
      },
    },
  };
}
