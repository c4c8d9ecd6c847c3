import type { Env } from '../../schemas/env.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { BrowserMetrics } from '../browser/metrics.ts';
import { loadResource } from './load.ts';

export interface ResourceOptions {
  env: Env;
  /** For the operator's eyes. */
  log(line: string): void;
  /** Given the figures of the browsers, which change as they work. */
  observeBrowsers?(metrics: BrowserMetrics): void;
}

/** What tools keep between calls, such as a program that is warm: opened once a worker, closed at its end. */
export interface Resource<T extends AsyncDisposable> {
  /** As in the log: "LibreOffice". */
  name: string;
  /** @throws ServiceError tool_unavailable whose detail, which callers see, says what this installation lacks */
  open(options: ResourceOptions): Promise<T>;
}

export interface Resources extends AsyncDisposable {
  /**
   * What `context.resource` of a tool is; undefined for one that needs none.
   *
   * @throws ServiceError tool_unavailable when it could not be opened
   */
  of(tool: string): unknown;
}

/** Each resource that the tools name, opened once. What an installation lacks takes only its own tools away. */
export async function openResources(tools: readonly string[], options: ResourceOptions): Promise<Resources> {
  await using owned = new AsyncDisposableStack();
  const opened = new Map<Resource<AsyncDisposable>, AsyncDisposable | ServiceError>();
  const byTool = new Map<string, AsyncDisposable | ServiceError>();
  for (const tool of tools) {
    const resource = await loadResource(tool);
    if (resource === undefined) continue;
    const value = opened.get(resource) ?? (await openOne(resource, options));
    if (!opened.has(resource) && !(value instanceof ServiceError)) owned.use(value);
    opened.set(resource, value);
    byTool.set(tool, value);
    if (value instanceof ServiceError) {
      const cause = value.cause instanceof Error ? ` (${value.cause.message})` : '';
      options.log(`${tool} is unavailable: ${value.detail}${cause}`);
    }
  }
  const kept = owned.move();
  return {
    of(tool) {
      const value = byTool.get(tool);
      if (value instanceof ServiceError) throw value;
      return value;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function openOne(
  resource: Resource<AsyncDisposable>,
  options: ResourceOptions,
): Promise<AsyncDisposable | ServiceError> {
  try {
    return await resource.open(options);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'tool_unavailable') return error;
    throw error;
  }
}
