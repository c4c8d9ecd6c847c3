import type { ToolDefinition } from '../../schemas/tool.ts';

/**
 * Returns a stored input with the defaults of options that the tool got after the input was validated. Such an option never changes
 * what the tool does without it.
 */
export function withDefaults(
  { input: { properties } }: Pick<ToolDefinition, 'input'>,
  input: Record<string, unknown>,
): Record<string, unknown> {
  const defaults = Object.entries(properties)
    .filter(([, schema]) => 'default' in schema)
    .map(([name, schema]) => [name, schema.default]);
  return { ...Object.fromEntries(defaults), ...input };
}
