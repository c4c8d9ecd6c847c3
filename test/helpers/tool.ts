import type { Offload } from '../../activities/decoders/offload.ts';
import { createDecoders, type Decoders } from '../../activities/decoders/pool.ts';
import type { NetworkContext, ToolContext } from '../../activities/runtime/context.ts';
import { jsonOf } from '../../activities/runtime/encodedOutput.ts';
import { createValidator } from '../../api/http/validator.ts';
import { type Fault, ServiceError } from '../../schemas/errors.ts';
import { NO_LINK } from '../../schemas/formats/linkOutput.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import { isRecord, type Json, recordAt } from './json.ts';

/** A tool as the API and a worker run it, in this process and without either of them. */
export interface LoadedTool {
  definition: ToolDefinition;
  /**
   * Validates an input as the API does: schema, defaults, then the tool's `check`. @throws ServiceError invalid_input
   */
  validate(body: Json): Json;
  /**
   * Validates an input, runs the tool, and checks the output against its schema.
   *
   * @throws ServiceError invalid_input with the list of faults, or the error that the tool throws
   */
  call(body: Json, context?: Partial<NetworkContext> & { resource?: unknown }): Promise<Json>;
}

type Run = (input: Json, context: Partial<NetworkContext> & ToolContext) => Promise<unknown>;
const isRun = (value: unknown): value is Run => typeof value === 'function';

let decoders: Decoders | undefined;

/** Runs decoder jobs as a worker does, in child processes that end with this process. */
const offload: Offload = (job, input, options) => {
  decoders ??= createDecoders({ memoryBytes: 3 * 2 ** 30, log: () => undefined });
  return decoders.offload(job, input, options);
};

/** Loads a tool by name. By default a call is never aborted and has a deadline of 100 s. */
export async function loadTool(name: string): Promise<LoadedTool> {
  const definition = (await loadRegistry()).get(name);
  if (definition === undefined) throw new Error(`no tool ${name}`);
  const module: unknown = await import(`../../activities/tools/${name}.ts`);
  const run = isRecord(module) ? module.run : undefined;
  if (!isRun(run)) throw new Error(`activities/tools/${name}.ts exports no run`);
  const compile = createValidator();
  const checkInput = compile(definition.input, definition.check);
  const checkOutput = compile(definition.output);

  const validate = (body: Json): Json => checkInput(structuredClone(body));
  return {
    definition,
    validate,
    async call(body, context = {}) {
      const result = await run(validate(body), {
        callId: '00000000-0000-4000-8000-000000000000',
        signal: new AbortController().signal,
        deadline: Date.now() + 100_000,
        offload,
        ...context,
      });
      if (!isRecord(result)) throw new Error('the output is not an object');
      const parsed: unknown = JSON.parse(jsonOf(result).toString());
      // A worker adds these fields.
      return checkOutput({ ...recordAt(parsed), ...(definition.raw !== undefined && NO_LINK) });
    },
  };
}

/**
 * Returns the faults with which an input is rejected, by validation or by the tool. @throws when it is not rejected
 * with faults
 */
export async function faultsOf(tool: LoadedTool, body: Json): Promise<Fault[]> {
  try {
    await tool.call(body);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid_input') return error.members.errors ?? [];
    throw error;
  }
  throw new Error('the call was not refused');
}
