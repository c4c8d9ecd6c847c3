import type { PropertySchema } from '../../schemas/tool.ts';

/**
 * Reads the text of a field of a CSV file or a form. Fields of the type string keep their text; the text of other fields is parsed as
 * JSON. A text that is not JSON is returned unchanged, and the validator reports it.
 */
export function fieldValue({ type }: PropertySchema, text: string): unknown {
  if ([type].flat().includes('string') || (type === undefined && !/^[[{]/.test(text))) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
