import { readdirSync } from 'node:fs';
import { withLinks } from './formats/linkOutput.ts';
import { isRecord } from './isRecord.ts';
import { POOLS, type Pool } from './pools.ts';
import { secretFields, type ToolDefinition } from './tool.ts';

/** All tools by name, in alphabetical order. */
export type Registry = ReadonlyMap<string, ToolDefinition>;

const isDefinition = (value: unknown): value is ToolDefinition =>
  isRecord(value) && 'input' in value && 'output' in value && 'price' in value;

/**
 * Loads the tools from `schemas/tools/`. Each file in that folder defines a tool; no other registration is needed.
 *
 * @throws if a file has no definition as its default export, or if the file name differs from the tool's name
 */
export async function loadRegistry(): Promise<Registry> {
  const folder = new URL('./tools/', import.meta.url);
  const registry = new Map<string, ToolDefinition>();
  for (const file of readdirSync(folder).sort()) {
    const name = file.replace(/\.ts$/, '');
    const module: unknown = await import(new URL(file, folder).href);
    const definition = isRecord(module) ? module.default : undefined;
    if (!isDefinition(definition) || definition.name !== name)
      throw new Error(`schemas/tools/${file} does not define the tool "${name}"`);
    registry.set(name, withLinks(definition));
  }
  return registry;
}

/** Returns the pools that have at least one tool and therefore need a worker process. */
export const poolsInUse = (registry: Registry): Pool[] =>
  POOLS.filter((pool) => [...registry.values()].some((tool) => tool.pool === pool));

/** Returns the pools whose tools have secret fields, which their workers read from the API. */
export const poolsWithSecrets = (registry: Registry): Pool[] =>
  POOLS.filter((pool) =>
    [...registry.values()].some((tool) => tool.pool === pool && secretFields(tool).length > 0),
  );
