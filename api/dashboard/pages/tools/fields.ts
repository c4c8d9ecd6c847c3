import { isRecord } from '../../../../schemas/isRecord.ts';
import type { PropertySchema, ToolDefinition } from '../../../../schemas/tool.ts';
import { type Failure, faultOf, type Labels } from '../../components/alert.ts';
import { type Attributes, choice, inputField, selectField, textField } from '../../components/field.ts';
import { count, prose } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { typesOf } from './input.ts';

/** Longer texts get a multi-line field. */
const ONE_LINE = 10_000;
const LONGEST_PLACEHOLDER = 80;
/** A form with more than MOST_OPTIONAL optional fields shows SHOWN_OPTIONAL of them and collapses the others. */
const MOST_OPTIONAL = 8;
const SHOWN_OPTIONAL = 4;

const isNumber = (value: unknown): value is number => typeof value === 'number';
const numberOrNull = (value: unknown): number | null => (isNumber(value) ? value : null);

/** The maximum length of the text that a property permits, also as an alternative; null if it is not limited. */
function longestText({ maxLength, oneOf }: PropertySchema): number | null {
  if (!Array.isArray(oneOf)) return numberOrNull(maxLength);
  return Math.max(0, ...oneOf.map((part) => (isRecord(part) ? (longestText(part) ?? 0) : 0))) || null;
}

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

const isEmpty = (value: unknown): boolean => isRecord(value) && Object.keys(value).length === 0;

/** The default of a field. Empty lists and objects are shown as an empty field. */
const defaultOf = ({ default: value }: PropertySchema): unknown =>
  isEmpty(value) || (Array.isArray(value) && value.length === 0) ? undefined : value;

/** An example value as a placeholder; null if there is none or it is long. */
function placeholderOf(example: unknown): string | null {
  const text = asText(example);
  return text === '' || text.length > LONGEST_PLACEHOLDER ? null : `e.g. ${text}`;
}

/** The labels of a tool's form are the field names of the API. */
export const labelsOf = ({ input }: ToolDefinition): Labels =>
  Object.fromEntries(Object.keys(input.properties).map((name) => [name, name]));

/** The form field of a property. Secrets are never prefilled. */
function fieldOf(
  { input: schema, examples }: ToolDefinition,
  name: string,
  property: PropertySchema,
  input: Readonly<Record<string, unknown>>,
  failure: Failure | null,
): Html {
  const required = schema.required.includes(name);
  const value = asText(input[name] ?? defaultOf(property));
  const label = required ? `${name} (required)` : name;
  const field = { name, label, hint: prose(property.description ?? ''), failure };
  if (Array.isArray(property.enum))
    return selectField({ ...field, value, options: optionsOf(property, required, 'default' in property) });
  if (property.type === 'boolean')
    return html`<div class="field">${choice({ name, value: 'true', label: html`${name}`, checked: value === 'true' })}
<small>${field.hint}</small></div>`;
  const attributes: Attributes = {
    autocomplete: 'off',
    placeholder: property.writeOnly === true ? null : placeholderOf(examples[0]?.input[name]),
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
  const isText = typesOf(property).includes('string');
  const longest = longestText(property);
  const isLong = longest === null || longest > ONE_LINE;
  return isLong
    ? textField({ ...field, value, rows: isText ? 4 : 2, attributes: { ...attributes, spellcheck: 'false' } })
    : inputField({ ...field, value, attributes });
}

/**
 * The form fields of a tool, derived from its input schema. Fields that are not in `input` have the schema's default; the
 * value of the tool's example appears only as the HTML placeholder. If there are more than `MOST_OPTIONAL` optional fields,
 * those after the first `SHOWN_OPTIONAL` are collapsed, unless one of them is not at its default or was refused.
 */
export function toolFields(
  tool: ToolDefinition,
  input: Readonly<Record<string, unknown>>,
  failure: Failure | null,
): Html[] {
  const { properties, required } = tool.input;
  const names = Object.keys(properties);
  const optional = names.filter((name) => !required.includes(name));
  const folded = optional.length > MOST_OPTIONAL ? optional.slice(SHOWN_OPTIONAL) : [];
  const field = (name: string) => fieldOf(tool, name, properties[name] ?? {}, input, failure);
  const shown = names.filter((name) => !folded.includes(name)).map(field);
  if (folded.length === 0) return shown;
  // A form states no default as an empty field or an empty box.
  const shownAs = (value: unknown) => asText(value === false ? undefined : value);
  const isChanged = (name: string) =>
    name in input && shownAs(input[name]) !== shownAs(defaultOf(properties[name] ?? {}));
  const isOpen = folded.some((name) => isChanged(name) || faultOf(failure, name) !== null);
  return [
    ...shown,
    html`<details class="more"${isOpen ? html` open` : null}><summary>${count(folded.length, 'more option')}</summary>
${folded.map(field)}
</details>`,
  ];
}
