import type { WorkflowStartOptions } from '@temporalio/client';
import type { callTool } from '../../workflows/callTool.ts';
import { SEARCH_ATTRIBUTES, workflowIds } from '../../workflows/contract.ts';
import type { CallRequest, CallResult } from '../../workflows/types.ts';
import type { Keyring } from '../secrets/keyring.ts';

/** A call whose workflow is to be started. */
export interface CallStart {
  request: CallRequest;
  /** Calls of the account that the API process runs in the pool, including this one. */
  running: number;
}

/** Path on the internal port of a worker at which it accepts calls for its lane of fast tools. */
export const CALLS_PATH = '/calls';
const CONTEXT = 'start';

/**
 * Options with which the workflow of a call is started. A start can be repeated, also on another task queue: there is only one
 * workflow for each call.
 */
export const callOptions = ({ request, running }: CallStart, taskQueue: string) =>
  ({
    workflowId: workflowIds.call(request.callId),
    taskQueue,
    args: [request],
    // With a fairness key, the queue serves the accounts in turn. The weight lets an account with a single call pass accounts
    // with many; 1 is the weight of all other workflows.
    priority: { fairnessKey: request.accountId, fairnessWeight: 1 / running },
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    workflowIdConflictPolicy: 'USE_EXISTING',
    typedSearchAttributes: [
      { key: SEARCH_ATTRIBUTES.tool, value: request.policy.tool },
      { key: SEARCH_ATTRIBUTES.accountId, value: request.accountId },
    ],
  }) satisfies WorkflowStartOptions<typeof callTool>;

/** Encrypts a call for a worker, so that the network between the two learns nothing and cannot start calls. */
export const sealCallStart = (keyring: Keyring, start: CallStart): Buffer =>
  keyring.seal('call-start', CONTEXT, Buffer.from(JSON.stringify(start)));

/** Decrypts a call. @throws if it was not encrypted with a master key of this installation */
export function openCallStart(keyring: Keyring, sealed: Uint8Array): CallStart {
  const start: CallStart = JSON.parse(keyring.open('call-start', CONTEXT, sealed).toString('utf8'));
  return start;
}

/** Encrypts the result of a charged call for the API process that waits for it. */
export const sealCallResult = (keyring: Keyring, callId: string, result: CallResult): Buffer =>
  keyring.seal('call-result', callId, Buffer.from(JSON.stringify(result)));

/** Decrypts the result of this call. @throws if it is that of another call, or was not encrypted by this installation */
export function openCallResult(keyring: Keyring, callId: string, sealed: Uint8Array): CallResult {
  const result: CallResult = JSON.parse(keyring.open('call-result', callId, sealed).toString('utf8'));
  return result;
}
