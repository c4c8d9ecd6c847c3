import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import proto from '@temporalio/proto';
import { SEARCH_ATTRIBUTES } from '../workflows/contract.ts';
import { StartError } from './start-error.ts';

/** How long Temporal keeps closed workflows, which is longer than the service keeps results. */
const RETENTION_SECONDS = 72 * 3600;
const SEARCH_ATTRIBUTE_NAMES = Object.values(SEARCH_ATTRIBUTES).map(({ name }) => name);
const READY_MS = 30_000;
/** Type of the search attributes: INDEXED_VALUE_TYPE_KEYWORD in temporal/api/enums/v1/common.proto. */
const KEYWORD = 2;
/** gRPC status codes, as in google.golang.org/grpc/codes. */
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;

const hasStatus = (error: unknown, code: number): boolean => isGrpcServiceError(error) && error.code === code;

async function ensureNamespace({ workflowService }: Connection, namespace: string): Promise<void> {
  const { Duration } = proto.google.protobuf;
  const workflowExecutionRetentionTtl = Duration.fromObject({ seconds: RETENTION_SECONDS });
  try {
    const { config } = await workflowService.describeNamespace({ namespace });
    const retention = config?.workflowExecutionRetentionTtl?.seconds?.toNumber() ?? 0;
    if (retention >= RETENTION_SECONDS) return;
    await workflowService.updateNamespace({ namespace, config: { workflowExecutionRetentionTtl } });
  } catch (error) {
    if (!hasStatus(error, NOT_FOUND)) throw error;
    await workflowService
      .registerNamespace({ namespace, workflowExecutionRetentionPeriod: workflowExecutionRetentionTtl })
      .catch((failure: unknown) => {
        if (!hasStatus(failure, ALREADY_EXISTS)) throw failure;
      });
  }
}

async function ensureSearchAttributes({ operatorService }: Connection, namespace: string): Promise<void> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  const missing = SEARCH_ATTRIBUTE_NAMES.filter((name) => customAttributes?.[name] === undefined);
  if (missing.length === 0) return;
  await operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
  });
}

/**
 * Retries a step until it succeeds or READY_MS have passed: a server that is starting may refuse it, and a new
 * namespace takes time to reach all of Temporal's services.
 */
async function retryUntilReady(step: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + READY_MS;
  for (;;) {
    try {
      await step();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(50);
    }
  }
}

async function connect(address: string): Promise<Connection> {
  try {
    return await Connection.connect({ address, connectTimeout: '10s' });
  } catch (error) {
    throw new StartError(
      `TEMPORAL_ADDRESS: no Temporal server answers at ${address}. Start it, or correct TEMPORAL_ADDRESS.`,
      { cause: error },
    );
  }
}

/**
 * Creates or updates the Temporal namespace, with a retention of 72 h and the search attributes `Tool` and `AccountId`.
 * Resolves when workflows with these attributes can be started in it. Idempotent.
 *
 * @throws StartError when no server answers at `address`, else the gRPC error of the failed step
 */
export async function prepareNamespace(address: string, namespace: string): Promise<void> {
  const connection = await connect(address);
  try {
    await connection.withDeadline(Date.now() + READY_MS, async () => {
      await retryUntilReady(() => ensureNamespace(connection, namespace));
      await retryUntilReady(() => ensureSearchAttributes(connection, namespace));
      const query = SEARCH_ATTRIBUTE_NAMES.map((name) => `${name} = ''`).join(' AND ');
      await retryUntilReady(() => connection.workflowService.countWorkflowExecutions({ namespace, query }));
    });
  } finally {
    await connection.close();
  }
}
