import type { PropertySchema, ToolDefinition } from '../../schemas/tool.ts';
import { fieldNumber } from './number.ts';

/** A form cannot say "nothing": an empty field stands for one that is left out, unless the tool wants it. */
function fieldValue(property: PropertySchema, text: string | null, required: boolean): unknown {
  if (property.type === 'boolean') return text !== null;
  if (text === null) return undefined;
  if (text === '' && !required) return undefined;
  const options: readonly unknown[] = Array.isArray(property.enum) ? property.enum : [];
  const option = options.find((value) => String(value) === text);
  if (option !== undefined) return option;
  const isNumber = property.type === 'integer' || property.type === 'number';
  const number = isNumber ? fieldNumber(text) : Number.NaN;
  if (!Number.isNaN(number)) return number;
  // Browsers send every line end as CR LF, whatever was typed or pasted (HTML standard, form submission).
  return text.replaceAll('\r\n', '\n');
}

/** The input that a tool's form stands for; what it must not be is for the tool's schema to say. */
export function toolInput({ input }: ToolDefinition, form: URLSearchParams): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(input.properties).flatMap(([name, property]) => {
      const value = fieldValue(property, form.get(name), input.required.includes(name));
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
