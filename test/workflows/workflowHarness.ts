import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createLedgerActivities } from '../../activities/ledger/ledgerActivities.ts';
import { createWholeCall } from '../../activities/runtime/wholeCall.ts';
import { queueState } from '../../platform/healthChecks.ts';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient, dataConverter } from '../../platform/temporal/temporal.ts';
import { parseMasterKeys } from '../../schemas/envValues.ts';
import type { CallPolicy } from '../../store/calls/callPolicy.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';
import { loadWorkflowBundle } from '../../workers/bundle.ts';
import type { CallRequest, CallResult, LedgerActivities, ToolActivities } from '../../workflows/types.ts';
import { startNamespace } from '../helpers/stack.ts';

/** The keyring that encrypts the recorded histories, which contain only invented input, so its key may be public. */
export const KEYRING = createKeyring(parseMasterKeys('test:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='));

const FOLDER = new URL('./histories/', import.meta.url);
/** Identity of the test's clients and workers: a fixed name, so that the recordings contain no host names. */
const identity = 'test';

/** Activities of one call; defaults replace those that are left out. */
export interface CallActivities extends Partial<LedgerActivities> {
  tool?: ToolActivities[string];
}

type Handle = WorkflowHandle<(call: CallRequest) => Promise<CallResult>>;

/** The queue of a worker that runs whole calls: their workflows, ledger steps and tools. */
export const FAST_QUEUE = 'tools-cpu-fast';
export const NONCE = 'the-nonce';
export const OUTPUT = { output: { answer: 42 } };

export const POLICY: CallPolicy = {
  tool: 'tool',
  pool: 'cpu',
  price: 7,
  maxRunning: 64,
  attempts: 3,
  queueMs: 30_000,
  attemptMs: 30_000,
  deadlineMs: 90_000,
  finalCodes: ['invalid_input', 'host_not_found'],
  actsOnWorld: false,
};

/** A started call, and what it requested from the ledger. */
export interface Call {
  callId: string;
  handle: Handle;
  /**
   * Requests to the ledger in order, including retries: `reserve`, `charged`, or `refunded <code> <released
   * bound>`.
   */
  ledgerSteps: string[];
  /** Returns how often the tool was started. */
  runs(): number;
}

export interface Harness extends AsyncDisposable {
  /**
   * Starts a call with these activities. With a separate task queue, the call waits until a worker for it is started.
   */
  call(
    activities: CallActivities,
    policy?: Partial<CallPolicy>,
    queue?: string,
    accountId?: string,
  ): Promise<Call>;
  /** Returns the number of tasks of a task queue that no worker has taken. */
  queued(queue: string): Promise<number>;
  /** Accounts whose events were dispatched, in order of the dispatches. */
  dispatched: string[];
  /** Starts a worker for workflows and ledger activities on another task queue. */
  startOrchestrator(queue: string): Promise<AsyncDisposable>;
  /** Starts a worker for the tools of a pool. The default number of slots is that of the SDK. */
  startToolWorker(pool: string, slots?: number): Promise<AsyncDisposable>;
}

/** Starts workers with the real workflow code on a real Temporal server, and with activities that the test defines. */
export async function startHarness(): Promise<Harness> {
  await using open = new AsyncDisposableStack();
  const { temporalAddress, namespace } = open.adopt(await startNamespace(), (it) => it.stop());
  const client = await connectClient(
    { TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: namespace },
    KEYRING,
  );
  open.defer(() => client.connection.close());
  const connection = open.adopt(await NativeConnection.connect({ address: temporalAddress }), (it) =>
    it.close(),
  );
  const workflowBundle = await loadWorkflowBundle((error) => console.error(error));
  const common = {
    connection,
    namespace,
    identity,
    dataConverter: dataConverter(KEYRING),
    shutdownGraceTime: '1s' as const,
  };

  const dispatched: string[] = [];
  const records = new Map<string, { activities: CallActivities; ledgerSteps: string[]; runs: number }>();
  const recordOf = (callId: string) => {
    const found = records.get(callId);
    if (found === undefined) throw new Error(`no activities for ${callId}`);
    return found;
  };
  const ledger: Pick<Ledger, 'reserve' | 'settle'> = {
    reserve(call) {
      const { activities, ledgerSteps } = recordOf(call.callId);
      ledgerSteps.push('reserve');
      const byDefault = { status: 'held', nonce: NONCE, available: 93 } as const;
      return activities.reserve?.(call) ?? Promise.resolve(byDefault);
    },
    settle(settlement) {
      const { activities, ledgerSteps } = recordOf(settlement.callId);
      const { wanted } = settlement;
      ledgerSteps.push(
        wanted === 'charged'
          ? `charged ${settlement.nonce}`
          : `refunded ${settlement.code} ${settlement.release ? 'released' : 'bound'}`,
      );
      return activities.settle?.(settlement) ?? Promise.resolve({ state: wanted, available: 93 });
    },
  };
  const ledgerActivities = createLedgerActivities(ledger);
  const tools: ToolActivities = {
    tool(call) {
      const found = recordOf(call.callId);
      found.runs++;
      return found.activities.tool?.(call) ?? Promise.resolve(OUTPUT);
    },
  };

  const work = async (options: Partial<Parameters<typeof Worker.create>[0]> & { taskQueue: string }) => {
    const worker = await Worker.create({ ...common, ...options });
    const running = worker.run();
    return {
      async [Symbol.asyncDispose]() {
        worker.shutdown();
        await running;
      },
    };
  };
  const startOrchestrator = (taskQueue: string) =>
    work({
      taskQueue,
      workflowBundle,
      activities: {
        ...ledgerActivities,
        dispatchEvents: async (accountId: string) => {
          dispatched.push(accountId);
        },
      },
    });
  const startToolWorker = (pool: string, slots?: number) =>
    work({
      taskQueue: `tools-${pool}`,
      activities: tools,
      ...(slots === undefined ? {} : { maxConcurrentActivityTaskExecutions: slots }),
    });
  open.use(await startOrchestrator('orchestrator'));
  open.use(await startToolWorker('cpu'));
  open.use(
    await work({
      taskQueue: FAST_QUEUE,
      workflowBundle,
      activities: { ...ledgerActivities, ...tools, ...createWholeCall(ledgerActivities, tools) },
    }),
  );

  const opened = open.move();
  return {
    dispatched,
    startOrchestrator,
    startToolWorker,
    queued: async (queue) => (await queueState(client, queue)).waiting,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
    async call(activities, policy = {}, taskQueue = 'orchestrator', accountId = 'acc_1') {
      const callId = randomUUID();
      const record = { activities, ledgerSteps: [], runs: 0 };
      records.set(callId, record);
      const request: CallRequest = {
        callId,
        accountId,
        requestId: 'req_1',
        policy: { ...POLICY, ...policy },
        input: { text: 'made up' },
        vault: null,
        resultExpiresAt: '2999-01-01T00:00:00.000Z',
        ...(taskQueue === FAST_QUEUE && { inFastLane: true }),
      };
      const handle: Handle = await client.workflow.start('callTool', {
        workflowId: callId,
        taskQueue,
        // Local activities run again if the machine is too slow for the default of 10 s, and tests count their runs.
        workflowTaskTimeout: '60s',
        args: [request],
      });
      return { callId, handle, ledgerSteps: record.ledgerSteps, runs: () => record.runs };
    },
  };
}

const { History } = proto.temporal.api.history.v1;
type History = proto.temporal.api.history.v1.IHistory;

/** Converts a history to JSON. The SDK's `historyToJSON` fails if several copies of protobufjs are installed. */
const toJson = (history: History): unknown =>
  JSON.parse(
    JSON.stringify(
      History.toObject(History.fromObject(history), { longs: String, enums: String, bytes: String }),
    ),
  );

/** Saves the history of a workflow for the replay test if `TEST_RECORD` is 1. */
export async function record(
  name: string,
  { callId, handle }: { callId: string; handle: Pick<Handle, 'fetchHistory'> },
): Promise<void> {
  if (process.env.TEST_RECORD !== '1') return;
  const recording = { workflowId: callId, history: toJson(await handle.fetchHistory()) };
  const text = JSON.stringify(recording, null, 2).replace(/"\d+@[^"]*"/g, `"${identity}"`);
  writeFileSync(new URL(`${name}.json`, FOLDER), `${text}\n`);
}

export interface Recording {
  name: string;
  workflowId: string;
  history: History;
  text: string;
}

/** Reads a recorded history. @param change changes its text before it is parsed */
export function readRecording(name: string, change = (text: string) => text): Recording {
  const text = change(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));
  const parsed: { workflowId: string; history: Record<string, unknown> } = JSON.parse(text);
  return { name, text, workflowId: parsed.workflowId, history: History.fromObject(parsed.history) };
}

export const recordings = (): Recording[] =>
  readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .map((file) => readRecording(file.replace(/\.json$/, '')));

/** Waits until the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}
