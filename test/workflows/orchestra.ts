import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import proto from '@temporalio/proto';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createLedgerActivities } from '../../activities/ledger.ts';
import { parseMasterKeys } from '../../schemas/envValues.ts';
import { createKeyring } from '../../store/keyring.ts';
import type { Ledger } from '../../store/ledger.ts';
import { loadWorkflowBundle } from '../../workers/bundle.ts';
import { queueLength } from '../../workers/health.ts';
import { connectClient, dataConverter } from '../../workers/temporal.ts';
import type {
  CallPolicy,
  CallRequest,
  CallResult,
  LedgerActivities,
  ToolActivities,
} from '../../workflows/types.ts';
import { startNamespace } from '../helpers/stack.ts';

/** The key of the recorded histories, which hold nothing but made-up input. */
export const KEYRING = createKeyring(parseMasterKeys('test:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='));

const FOLDER = new URL('./histories/', import.meta.url);
/** So that no name of a machine gets into a recording. */
const identity = 'test';

/** What the activities of one call do; what is left out does the usual. */
export interface Part extends Partial<LedgerActivities> {
  tool?: ToolActivities[string];
}

type Handle = WorkflowHandle<(call: CallRequest) => Promise<CallResult>>;

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

/** A call, and what was asked of the ledger for it. */
export interface Call {
  callId: string;
  handle: Handle;
  /** In order: `reserve`, `charged`, or `refunded <code> <released | bound>`; retries too. */
  money: string[];
  /** Times the tool was begun. */
  runs(): number;
}

export interface Orchestra extends AsyncDisposable {
  /** Starts a call with these activities. On a queue of its own it waits for a worker. */
  call(part: Part, policy?: Partial<CallPolicy>, queue?: string, accountId?: string): Promise<Call>;
  /** Tasks that wait on a queue for a worker. */
  queued(queue: string): Promise<number>;
  /** Accounts whose events were handed over, in order. */
  handedOver: string[];
  /** The workflows' and the ledger's worker for one more queue. */
  conduct(queue: string): Promise<AsyncDisposable>;
  /** A worker of tools for a pool. Default slots: those of the SDK. */
  play(pool: string, slots?: number): Promise<AsyncDisposable>;
}

/** Workflow code as it is, a real Temporal server, and activities that do what the test says. */
export async function startOrchestra(): Promise<Orchestra> {
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
    shutdownGraceTime: '1s',
  };

  const handedOver: string[] = [];
  const parts = new Map<string, { part: Part; money: string[]; runs: number }>();
  const partOf = (callId: string) => {
    const found = parts.get(callId);
    if (found === undefined) throw new Error(`no part for ${callId}`);
    return found;
  };
  const ledger: Pick<Ledger, 'reserve' | 'settle'> = {
    reserve(call) {
      const { part, money } = partOf(call.callId);
      money.push('reserve');
      const usual = { status: 'held', nonce: NONCE, available: 93 } as const;
      return part.reserve?.(call) ?? Promise.resolve(usual);
    },
    settle(settlement) {
      const { part, money } = partOf(settlement.callId);
      const { wanted } = settlement;
      money.push(
        wanted === 'charged'
          ? `charged ${settlement.nonce}`
          : `refunded ${settlement.code} ${settlement.release ? 'released' : 'bound'}`,
      );
      return part.settle?.(settlement) ?? Promise.resolve({ state: wanted, available: 93 });
    },
  };
  const tools: ToolActivities = {
    tool(call) {
      const found = partOf(call.callId);
      found.runs++;
      return found.part.tool?.(call) ?? Promise.resolve(OUTPUT);
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
  const conduct = (taskQueue: string) =>
    work({
      taskQueue,
      workflowBundle,
      activities: {
        ...createLedgerActivities(ledger),
        handOver: async (accountId: string) => {
          handedOver.push(accountId);
        },
      },
    });
  const play = (pool: string, slots?: number) =>
    work({
      taskQueue: `tools-${pool}`,
      activities: tools,
      ...(slots === undefined ? {} : { maxConcurrentActivityTaskExecutions: slots }),
    });
  open.use(await conduct('orchestrator'));
  open.use(await play('cpu'));

  const opened = open.move();
  return {
    handedOver,
    conduct,
    play,
    queued: (queue) => queueLength(client, queue),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
    async call(part, policy = {}, taskQueue = 'orchestrator', accountId = 'acc_1') {
      const callId = randomUUID();
      const record = { part, money: [], runs: 0 };
      parts.set(callId, record);
      const request: CallRequest = {
        callId,
        accountId,
        requestId: 'req_1',
        policy: { ...POLICY, ...policy },
        input: { text: 'made up' },
        vault: null,
        resultExpiresAt: '2030-01-01T00:00:00.000Z',
      };
      const handle: Handle = await client.workflow.start('callTool', {
        workflowId: callId,
        taskQueue,
        args: [request],
      });
      return { callId, handle, money: record.money, runs: () => record.runs };
    },
  };
}

const { History } = proto.temporal.api.history.v1;
type History = proto.temporal.api.history.v1.IHistory;

/** As JSON: the SDK's own `historyToJSON` fails where more than one copy of protobufjs is installed. */
export const toJson = (history: History): unknown =>
  JSON.parse(
    JSON.stringify(
      History.toObject(History.fromObject(history), { longs: String, enums: String, bytes: String }),
    ),
  );

/** Keeps the history of a workflow for the replay test when `TEST_RECORD=1`. */
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

/** A recorded history, perhaps with changes made to its text. */
export function readRecording(name: string, change = (text: string) => text): Recording {
  const text = change(readFileSync(new URL(`${name}.json`, FOLDER), 'utf8'));
  const parsed: { workflowId: string; history: Record<string, unknown> } = JSON.parse(text);
  return { name, text, workflowId: parsed.workflowId, history: History.fromObject(parsed.history) };
}

export const recordings = (): Recording[] =>
  readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .map((file) => readRecording(file.replace(/\.json$/, '')));

/** Waits until something has happened elsewhere. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}
