import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import { ServiceError } from '../../schemas/errors.ts';
import { runsOnThread, type ToolDefinition } from '../../schemas/tool.ts';
import type { ToolTimes } from '../../store/accounts/accountDocs.ts';
import { INLINE_BYTES, type Results } from '../../store/calls/results.ts';
import type { FileContents } from '../../store/files/fileContents.ts';
import type { Links } from '../../store/files/links.ts';
import { startDigests } from '../../store/receipts/digests.ts';
import type {
  CallFailure,
  ToolActivities,
  ToolAnswer,
  ToolAttempt,
  ToolResult,
  VaultReference,
} from '../../workflows/types.ts';
import type { Offload } from '../decoders/offload.ts';
import type { NetworkContext, ToolContext, UploadedFile } from './context.ts';
import { jsonOf } from './encodedOutput.ts';
import { linkOutput } from './linkOutput.ts';
import { loadTool, type RunTool } from './loadTool.ts';
import type { Resources } from './resources.ts';
import type { Threads } from './threads.ts';

/** Called when an attempt starts; the returned function is called with its outcome (`ok` or an error code). */
export type ObserveAttempt = (tool: string) => (outcome: string) => void;

/** Dependencies of the tools of a pool. */
export interface ToolServices {
  results: Results;
  files: Pick<FileContents, 'read'>;
  links: Pick<Links, 'store'>;
  /** Fetches the secrets of a call from the API replica that holds them. */
  openVault(reference: VaultReference, callId: string, signal: AbortSignal): Promise<Record<string, unknown>>;
  threads: Threads;
  offload: Offload;
  resources: Resources;
  observe: ObserveAttempt;
  log: Logger;
  /** Context of tools that run on the main thread, in addition to ToolContext. */
  context: Omit<NetworkContext, keyof ToolContext | 'offload' | 'file'>;
}

type Run = RunTool<NetworkContext>;
/** Context of tools that keep state between calls. `resource` is what the tool's `resource.open` returned. */
type ResourceContext = NetworkContext & { resource: unknown };

/** Maximum size of tool output as JSON, in bytes, as the contract states it. */
const OUTPUT_BYTES = 50_000_000;
/** Interval of heartbeats in milliseconds, well below the heartbeat timeout that the workflow sets. */
const HEARTBEAT_INTERVAL_MS = 2000;

/** Time in which a tool that has reached the end of its call's time can report that. */
const REPORT_MS = 1000;

/** Starts to measure an attempt. Returns the function that returns its times so far. */
function startTimes(): () => ToolTimes {
  const started = performance.now();
  // The two times come from the clocks of two machines.
  const wait = Math.max(0, Date.now() - Context.current().info.scheduledTimestampMs);
  return () => ({ wait, run: Math.round(performance.now() - started) });
}

/** Converts a ServiceError to a non-retryable Temporal failure whose type is the error code. */
function toFailure(error: ServiceError, times: ToolTimes): ApplicationFailure {
  const { code, detail, members, retryAfter } = error;
  return ApplicationFailure.create({
    type: code,
    message: detail,
    nonRetryable: true,
    category: 'BENIGN',
    details: [{ members, retryAfter: retryAfter ?? null, available: null, times } satisfies CallFailure],
    ...(error.cause instanceof Error ? { cause: error.cause } : {}),
  });
}

/** Creates one activity per tool, named like the tool. */
export async function createToolActivities(
  tools: readonly ToolDefinition[],
  services: ToolServices,
): Promise<ToolActivities> {
  const activities: ToolActivities = {};
  for (const tool of tools) {
    const { name } = tool;
    const run: Run = runsOnThread(tool)
      ? services.threads.runOf(name)
      : withResource(await loadTool<ResourceContext>(name), () => services.resources.of(name));
    activities[name] = (call) => observed(name, call, services, () => runActivity(tool, run, call, services));
  }
  return activities;
}

const withResource =
  (run: RunTool<ResourceContext>, resource: () => unknown): Run =>
  (input, context) =>
    run(input, { ...context, resource: resource() });

/** Runs an attempt, logs one line with its request id and outcome, and records its outcome in the metrics. */
async function observed(
  tool: string,
  { callId, requestId }: ToolAttempt,
  { observe, log }: ToolServices,
  work: () => Promise<ToolAnswer>,
): Promise<ToolAnswer> {
  const { info, cancellationSignal } = Context.current();
  const started = performance.now();
  const reportOutcome = observe(tool);
  const end = (outcome: string, error?: unknown) => {
    reportOutcome(outcome);
    const ms = Math.round(performance.now() - started);
    const line = { requestId, callId, tool, attempt: info.attempt, outcome, ms };
    if (outcome === 'internal') log.error({ ...line, err: error }, 'tool');
    else log.info(line, 'tool');
  };
  try {
    const result = await work();
    end('ok');
    return result;
  } catch (error) {
    if (error instanceof ApplicationFailure) end(error.type ?? 'internal', error);
    else end(cancellationSignal.aborted ? 'cancelled' : 'internal', error);
    throw error;
  }
}

/**
 * Returns a signal that aborts when the activity is cancelled for another reason than a request to cancel the call, such as
 * the shutdown of the worker.
 */
function interruptionOf(activity: Context): AbortSignal {
  const interruption = new AbortController();
  const { cancellationSignal } = activity;
  const onAbort = () => {
    if (!activity.cancellationDetails?.cancelRequested) interruption.abort(cancellationSignal.reason);
  };
  if (cancellationSignal.aborted) onAbort();
  else cancellationSignal.addEventListener('abort', onAbort, { once: true });
  return interruption.signal;
}

/**
 * Returns the milliseconds that an attempt may take: `attemptMs`, or less if the call waited so long for a worker that Temporal
 * ends it earlier. No time left means that the clock of this machine is ahead of Temporal's, because Temporal starts no
 * attempt that late; the waiting time is then not known.
 */
function timeLimit({ info }: Context, attemptMs: number): number {
  const waitedMs = Date.now() - info.scheduledTimestampMs;
  const leftMs = info.scheduleToCloseTimeoutMs - waitedMs - REPORT_MS;
  return leftMs > 0 ? Math.min(attemptMs, leftMs) : attemptMs;
}

async function runActivity(
  tool: ToolDefinition,
  run: Run,
  call: ToolAttempt,
  services: ToolServices,
): Promise<ToolAnswer> {
  const { callId } = call;
  const activity = Context.current();
  const times = startTimes();
  const limitMs = timeLimit(activity, call.attemptMs);
  const deadline = Date.now() + limitMs;
  const timeout = AbortSignal.timeout(limitMs);
  const interruption = call.finishes ? interruptionOf(activity) : activity.cancellationSignal;
  const signal = AbortSignal.any([interruption, timeout]);
  const { offload } = services;
  const file = fileOf(call, services.files);
  const context: NetworkContext = { ...services.context, offload, file, callId, deadline, signal };
  // Temporal takes no heartbeats of local activities.
  const heartbeat = activity.info.isLocal
    ? undefined
    : setInterval(() => activity.heartbeat(), HEARTBEAT_INTERVAL_MS);
  try {
    const secrets = call.vault === null ? {} : await services.openVault(call.vault, callId, signal);
    const open = await inputOf(call, services.results);
    const digest = await startDigests(call.digestKeys, open);
    const input = { ...open, ...secrets };
    const output = await run(input, context);
    const { linked, ...shown } = await linkOutput(tool, input, output, call, services.links);
    const json = jsonOf(shown.output);
    const result = await storeOutput(call, json, services.results);
    return { ...result, linked, times: times(), digests: await digest(json) };
  } catch (error) {
    if (error instanceof ServiceError) throw toFailure(error, times());
    // Temporal recognises a cancellation by its own error, and the tool may have thrown another one, such as that of its
    // time limit.
    interruption.throwIfAborted();
    if (timeout.aborted) throw toFailure(new ServiceError('deadline_exceeded', { cause: error }), times());
    throw error;
  } finally {
    clearInterval(heartbeat);
  }
}

/** Returns the uploaded file that the call reads. */
function fileOf({ file }: ToolAttempt, files: ToolServices['files']): UploadedFile | undefined {
  if (file === undefined) return undefined;
  const { id, content, sizeBytes, name } = file;
  return { sizeBytes, name, read: () => files.read(id, content) };
}

async function inputOf(
  { callId, input, storedInput }: ToolAttempt,
  results: Results,
): Promise<Record<string, unknown>> {
  return storedInput === undefined ? input : JSON.parse((await results.read(callId, storedInput)).toString());
}

/** Returns small output inline and stores large output in MongoDB. */
async function storeOutput(call: ToolAttempt, json: Buffer, results: Results): Promise<ToolResult> {
  if (json.length > OUTPUT_BYTES) throw new ServiceError('output_too_large');
  if (json.length <= INLINE_BYTES) return { output: JSON.parse(json.toString()) };
  return { stored: await results.write(call.callId, json, new Date(call.resultExpiresAt)) };
}
