import { ServiceError } from '../../schemas/errors.ts';
import { loadResource } from './loadTool.ts';
import type { Resource, ResourceOptions } from './resource.ts';

export interface Resources extends AsyncDisposable {
  /**
   * Returns the value of `context.resource` for a tool; undefined if the tool has no resource.
   *
   * @throws ServiceError tool_unavailable when the resource could not be opened
   */
  of(tool: string): unknown;
}

/** Opens each resource of the tools once. A resource that cannot be opened disables only the tools that use it. */
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
