import type { PropertySchema } from '../../schemas/tool.ts';

/**
 * Reads the text of a field, as CSV and forms have it, by the type of the field: text as it is, anything else as JSON. What is neither is
 * left for the validator to report.
 */
export function fieldValue({ type }: PropertySchema, text: string): unknown {
  if ([type].flat().includes('string') || (type === undefined && !/^[[{]/.test(text))) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
