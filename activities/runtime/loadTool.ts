import { isRecord } from '../../schemas/isRecord.ts';
import type { ToolContext } from './context.ts';
import type { Resource } from './resource.ts';

/** A tool's run function without the specific types of its input and output. */
export type RunTool<C extends ToolContext> = (
  input: Record<string, unknown>,
  context: C,
) => Promise<Record<string, unknown>>;

const hasRun = <C extends ToolContext>(module: unknown): module is { run: RunTool<C> } =>
  isRecord(module) && typeof module.run === 'function';

const hasResource = (module: unknown): module is { resource: Resource<AsyncDisposable> } =>
  isRecord(module) && 'resource' in module;

const loadModule = (name: string): Promise<unknown> =>
  import(new URL(`../tools/${name}.ts`, import.meta.url).href);

/** Returns `run` of `activities/tools/<name>.ts`. @throws Error when the file does not export it */
export async function loadTool<C extends ToolContext>(name: string): Promise<RunTool<C>> {
  const module = await loadModule(name);
  if (!hasRun<C>(module)) throw new Error(`activities/tools/${name}.ts does not export run()`);
  return module.run;
}

/** Returns `resource` of `activities/tools/<name>.ts`, or undefined if the file does not export it. */
export async function loadResource(name: string): Promise<Resource<AsyncDisposable> | undefined> {
  const module = await loadModule(name);
  return hasResource(module) ? module.resource : undefined;
}
