import { isRecord } from '../../../../schemas/isRecord.ts';
import type { PropertySchema, ToolDefinition } from '../../../../schemas/tool.ts';
import { fieldNumber } from '../../frame/formValues.ts';

/** The JSON types that a property permits, including those of its alternatives (`oneOf`). */
export function typesOf({ type, oneOf }: PropertySchema): readonly unknown[] {
  if (Array.isArray(oneOf)) return oneOf.flatMap((part) => (isRecord(part) ? typesOf(part) : []));
  return Array.isArray(type) ? type : [type];
}

/** Parses JSON. Returns other text unchanged, so that the schema rejects it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A form cannot omit a field: an empty value means that the field is left out, unless it is required. */
function fieldValue(property: PropertySchema, text: string | null, required: boolean): unknown {
  const types = typesOf(property);
  if (types.includes('boolean')) return text !== null;
  if (text === null) return undefined;
  if (text === '' && !required) return undefined;
  const options: readonly unknown[] = Array.isArray(property.enum) ? property.enum : [];
  const option = options.find((value) => String(value) === text);
  if (option !== undefined) return option;
  const isNumber = types.includes('integer') || types.includes('number');
  const number = isNumber ? fieldNumber(text) : Number.NaN;
  if (!Number.isNaN(number)) return number;
  const isText = types.includes('string');
  if (!isText && (types.includes('object') || types.includes('array'))) return parsed(text);
  // Browsers send every line break as CR LF (HTML Standard, form submission).
  return text.replaceAll('\r\n', '\n');
}

/** Converts a submitted form to a tool's input; the tool's schema validates it afterwards. */
export function toolInput({ input }: ToolDefinition, form: URLSearchParams): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(input.properties).flatMap(([name, property]) => {
      const value = fieldValue(property, form.get(name), input.required.includes(name));
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
