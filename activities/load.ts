import type { ToolContext } from './context.ts';

/** A tool as its worker sees it: what its own file types exactly is, from outside, an object in and an object out. */
export type RunTool<C extends ToolContext> = (
  input: Record<string, unknown>,
  context: C,
) => Promise<Record<string, unknown>>;

const hasRun = <C extends ToolContext>(module: unknown): module is { run: RunTool<C> } =>
  typeof module === 'object' && module !== null && 'run' in module && typeof module.run === 'function';

/** The `run` of `activities/tools/<name>.ts`. @throws when there is none */
export async function loadTool<C extends ToolContext>(name: string): Promise<RunTool<C>> {
  const module: unknown = await import(new URL(`./tools/${name}.ts`, import.meta.url).href);
  if (!hasRun<C>(module)) throw new Error(`activities/tools/${name}.ts does not export run()`);
  return module.run;
}
