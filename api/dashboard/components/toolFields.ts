import type { PropertySchema, ToolDefinition } from '../../../schemas/tool.ts';
import { type Html, html } from '../html.ts';
import type { Failure, Labels } from './alert.ts';
import { type Attributes, choice, inputField, selectField, textField } from './field.ts';
import { prose } from './text.ts';

/** Longer texts get a multi-line field. */
const ONE_LINE = 10_000;

const isNumber = (value: unknown): value is number => typeof value === 'number';
const numberOrNull = (value: unknown): number | null => (isNumber(value) ? value : null);

/** Offers an empty option when the field is optional and has no default. */
function optionsOf({ enum: values }: PropertySchema, required: boolean, hasDefault: boolean) {
  const options = (Array.isArray(values) ? values : []).map((value) => ({
    value: String(value),
    label: String(value),
  }));
  return required || hasDefault ? options : [{ value: '', label: '–' }, ...options];
}

const asText = (value: unknown): string => {
  if (value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
};

/** The labels of a tool's form are the field names of the API. */
export const labelsOf = ({ input }: ToolDefinition): Labels =>
  Object.fromEntries(Object.keys(input.properties).map((name) => [name, name]));

/** The form fields of a tool, derived from its input schema. Secrets are never prefilled. */
export function toolFields(
  { input: schema }: ToolDefinition,
  input: Readonly<Record<string, unknown>>,
  failure: Failure | null,
): Html[] {
  return Object.entries(schema.properties).map(([name, property]) => {
    const required = schema.required.includes(name);
    const value = asText(input[name] ?? property.default);
    const label = required ? `${name} (required)` : name;
    const field = { name, label, hint: prose(property.description ?? ''), failure };
    if (Array.isArray(property.enum))
      return selectField({ ...field, value, options: optionsOf(property, required, 'default' in property) });
    if (property.type === 'boolean')
      return html`${choice({ name, value: 'true', label: html`${name}`, checked: value === 'true' })}
<small>${field.hint}</small>`;
    const attributes: Attributes = {
      autocomplete: 'off',
      required: required && (property.type !== 'string' || property.minLength !== undefined) ? '' : null,
    };
    if (property.type === 'integer' || property.type === 'number')
      return inputField({
        ...field,
        type: 'number',
        value,
        attributes: {
          ...attributes,
          min: numberOrNull(property.minimum),
          max: numberOrNull(property.maximum),
          step: property.type === 'integer' ? 1 : 'any',
        },
      });
    if (property.writeOnly === true)
      return inputField({
        ...field,
        type: 'password',
        attributes: { ...attributes, autocomplete: 'new-password' },
      });
    const isLong = !isNumber(property.maxLength) || property.maxLength > ONE_LINE;
    return isLong
      ? textField({ ...field, value, attributes: { ...attributes, spellcheck: 'false' } })
      : inputField({ ...field, value, attributes });
  });
}
