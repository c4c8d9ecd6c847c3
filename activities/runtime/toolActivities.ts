import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import { ServiceError } from '../../schemas/errors.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import { INLINE_BYTES, type Results } from '../../store/results.ts';
import type {
  CallFailure,
  ToolActivities,
  ToolCall,
  ToolResult,
  VaultReference,
} from '../../workflows/types.ts';
import type { Offload } from '../decoders/offload.ts';
import type { NetworkContext, ToolContext } from './context.ts';
import { jsonOf } from './encodedOutput.ts';
import { loadTool, type RunTool } from './loadTool.ts';
import type { Resources } from './resources.ts';
import type { Threads } from './threads.ts';

/** Told of every attempt: when it begins, and by what it answers, how it ended (`ok`, or a code). */
export type Observe = (tool: string) => (outcome: string) => void;

/** What the tools of a pool run with. */
export interface ToolServices {
  results: Results;
  /** Fetches the secrets of a call from the API replica that holds them. */
  openVault(reference: VaultReference, callId: string, signal: AbortSignal): Promise<Record<string, unknown>>;
  threads: Threads;
  offload: Offload;
  resources: Resources;
  observe: Observe;
  log: Logger;
  /** What a tool outside the threads gets beyond ToolContext. */
  context: Omit<NetworkContext, keyof ToolContext | 'offload'>;
}

type Run = RunTool<NetworkContext>;
/** For tools that keep something between calls: what their `resource` was opened to. */
type ResourceContext = NetworkContext & { resource: unknown };

/** The contract's limit for encoded output. */
const OUTPUT_BYTES = 50_000_000;
/** Well within the workflow's heartbeat time-out. */
const HEARTBEAT_EVERY_MS = 2000;

/** The expected error becomes a failure that is never retried; the code is its type. */
function asFailure(error: ServiceError): ApplicationFailure {
  const { code, detail, members, retryAfter } = error;
  return ApplicationFailure.create({
    type: code,
    message: detail,
    nonRetryable: true,
    category: 'BENIGN',
    details: [{ members, retryAfter: retryAfter ?? null, available: null } satisfies CallFailure],
    ...(error.cause instanceof Error ? { cause: error.cause } : {}),
  });
}

/** One activity a tool, named like it. */
export async function createToolActivities(
  tools: readonly ToolDefinition[],
  services: ToolServices,
): Promise<ToolActivities> {
  const activities: ToolActivities = {};
  for (const { name, pool, thread = pool === 'cpu' } of tools) {
    const run: Run = thread
      ? (input, { callId, deadline, signal }) =>
          services.threads.runTool({ tool: name, input, callId, deadline }, signal)
      : withResource(await loadTool<ResourceContext>(name), () => services.resources.of(name));
    activities[name] = (call) => watch(name, call, services, () => runActivity(run, call, services));
  }
  return activities;
}

const withResource =
  (run: RunTool<ResourceContext>, resource: () => unknown): Run =>
  (input, context) =>
    run(input, { ...context, resource: resource() });

/** One line in the log for each attempt, under the id of the request that it is for. */
async function watch(
  tool: string,
  { callId, requestId }: ToolCall,
  { observe, log }: ToolServices,
  work: () => Promise<ToolResult>,
): Promise<ToolResult> {
  const { info, cancellationSignal } = Context.current();
  const started = performance.now();
  const ended = observe(tool);
  const end = (outcome: string, error?: unknown) => {
    ended(outcome);
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

async function runActivity(run: Run, call: ToolCall, services: ToolServices): Promise<ToolResult> {
  const { callId } = call;
  const activity = Context.current();
  const deadline = Date.now() + call.attemptMs;
  const timeout = AbortSignal.timeout(call.attemptMs);
  const signal = AbortSignal.any([activity.cancellationSignal, timeout]);
  const { offload } = services;
  const context: NetworkContext = { ...services.context, offload, callId, deadline, signal };
  const heartbeat = setInterval(() => activity.heartbeat(), HEARTBEAT_EVERY_MS);
  try {
    const secrets = call.vault === null ? {} : await services.openVault(call.vault, callId, signal);
    const answer = await run({ ...(await inputOf(call, services.results)), ...secrets }, context);
    return await keep(call, jsonOf(answer), services.results);
  } catch (error) {
    if (error instanceof ServiceError) throw asFailure(error);
    // A cancel is Temporal's to see; a time-out is ours to name.
    if (timeout.aborted && !activity.cancellationSignal.aborted)
      throw asFailure(new ServiceError('deadline_exceeded', { cause: error }));
    throw error;
  } finally {
    clearInterval(heartbeat);
  }
}

async function inputOf(
  { callId, input, storedInput }: ToolCall,
  results: Results,
): Promise<Record<string, unknown>> {
  return storedInput === undefined ? input : JSON.parse((await results.read(callId, storedInput)).toString());
}

async function keep(call: ToolCall, json: Buffer, results: Results): Promise<ToolResult> {
  if (json.length > OUTPUT_BYTES) throw new ServiceError('output_too_large');
  if (json.length <= INLINE_BYTES) return { output: JSON.parse(json.toString()) };
  return { stored: await results.write(call.callId, json, new Date(call.resultExpiresAt)) };
}
