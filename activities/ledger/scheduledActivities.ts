import { heartbeat, log } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import proto from '@temporalio/proto';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { sumExpiring } from '../../store/calls/expiringCalls.ts';
import { type Sweep, sweep } from '../../store/calls/sweeper.ts';
import { isInChunk } from '../../store/jobs/openJobs.ts';
import { grantAllowances, monthOf } from '../../store/ledger/allowance.ts';
import { type Audit, recordAudit, recordFailedAudit } from '../../store/ledger/audit.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { deleteOldAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import { createDeliveries, type EndpointNotifier, findLeftovers } from '../../store/webhooks/events.ts';
import { TASK_QUEUES, WORKER_DEPLOYMENT, workflowIds } from '../../workflows/contract.ts';
import type { AllowanceActivities, AuditActivities, MaintenanceActivities } from '../../workflows/types.ts';

const { TaskQueueType } = proto.temporal.api.enums.v1;
/** A poller that was not seen for this long has stopped: workers always poll, and a long poll takes up to 60 s. */
const MAX_POLL_AGE_MS = 75_000;

/** Returns the build ids of the orchestrators that currently poll for workflow tasks. */
async function polledBuilds(client: Client): Promise<Set<string>> {
  const { pollers } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: TASK_QUEUES.orchestrator },
    taskQueueType: TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
  });
  const recent = pollers.filter(
    ({ lastAccessTime }) => Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1000 < MAX_POLL_AGE_MS,
  );
  return new Set(recent.flatMap(({ deploymentOptions }) => deploymentOptions?.buildId ?? []));
}

/**
 * Terminates the workflows of running calls whose build has no worker left, because no other build may continue them. The
 * next sweep refunds the calls that still hold credits.
 *
 * @param onCall called before each termination
 */
async function endStrandedCalls(client: Client, onCall: () => void): Promise<void> {
  const conditions = [...(await polledBuilds(client))].map(
    (build) => `TemporalWorkerDeploymentVersion != '${WORKER_DEPLOYMENT}:${build}'`,
  );
  if (conditions.length === 0) return; // This process itself polls, so Temporal's list of pollers is incomplete.
  const query = [
    "ExecutionStatus = 'Running'",
    "TemporalWorkflowVersioningBehavior = 'Pinned'",
    ...conditions,
  ];
  for await (const { workflowId, runId } of client.workflow.list({ query: query.join(' AND ') })) {
    onCall();
    await client.workflow
      .getHandle(workflowId, runId)
      .terminate('no worker runs the build of this workflow any more');
  }
}

/** Whether Temporal reports the workflow as closed or not found. @throws other errors of Temporal */
export async function isClosed(client: Client, workflowId: string): Promise<boolean> {
  heartbeat();
  try {
    const { status } = await client.workflow.getHandle(workflowId).describe();
    return status.name !== 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return true;
    throw error;
  }
}

/** Requests the cancellation of a call's workflow, as the API does when the caller disconnects. */
async function cancelCall(client: Client, callId: string): Promise<void> {
  try {
    await client.workflow.getHandle(workflowIds.call(callId)).cancel();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

export const createMaintenanceActivities = (
  store: Store,
  ledger: Ledger,
  client: Client,
  notifier: EndpointNotifier,
  onSweep: (sweep: Sweep) => void,
  isVersioned: boolean,
): MaintenanceActivities => ({
  async sweepLedger() {
    if (isVersioned) await endStrandedCalls(client, heartbeat);
    const isOver = async (callId: string) =>
      !(await isInChunk(store, callId)) && (await isClosed(client, workflowIds.call(callId)));
    const swept = await sweep(store, ledger, isOver);
    onSweep(swept);
    return swept;
  },

  async sweepEvents() {
    const { accounts, endpoints } = await findLeftovers(store);
    for (const accountId of accounts) {
      heartbeat();
      await createDeliveries(store, accountId, notifier);
    }
    // Skips endpoints whose workflow is still running.
    for (const endpointId of endpoints)
      if (await isClosed(client, workflowIds.webhookEndpoint(endpointId))) await notifier.wake(endpointId);
  },

  async sweepAnswers() {
    const paybacks = createPaybacks({ store, ledger, accounts: createAccounts(store) });
    const swept = await paybacks.sweep((callId) => cancelCall(client, callId), heartbeat);
    if (swept.cancelled + swept.refunded > 0)
      log.warn('cancelled or refunded calls whose result was not delivered', { ...swept });
  },
});

export const createAllowanceActivities = (store: Store): AllowanceActivities => ({
  async grantAllowances() {
    let granted = 0;
    for await (const _accountId of grantAllowances(store, createAccounts(store), monthOf(new Date())))
      heartbeat(++granted);
    return granted;
  },
});

/** Interval of heartbeats of the audit in milliseconds, well below the heartbeat timeout that the workflow sets. */
const HEARTBEAT_MS = 10_000;
/** Maximum number of differences that one audit logs; `npm run audit` shows all. */
const LOGGED = 20;

/** Creates the activity that audits the ledger. @param runAudit audits all accounts; its queries may take minutes */
export const createAuditActivities = (store: Store, runAudit: () => Promise<Audit>): AuditActivities => ({
  async auditLedger() {
    const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
    try {
      const result = await runAudit();
      for (const drift of result.drift.slice(0, LOGGED))
        log.error('the ledger is inconsistent', { ...drift });
      await recordAudit(store, result);
      // A failure is only logged: the next run sums the same calls again.
      await sumExpiring(store).catch((error) => log.error('usage could not be summed', { err: error }));
      await deleteOldAttempts(store).catch((error) =>
        log.error('old webhook attempts could not be deleted', { err: error }),
      );
      return result.drift.length;
    } catch (error) {
      log.error('the audit failed', { err: error });
      await recordFailedAudit(store);
      throw error;
    } finally {
      clearInterval(beat);
    }
  },
});
