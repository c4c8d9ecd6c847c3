import { isRecord } from '../../schemas/isRecord.ts';
import { type Html, html } from '../dashboard/frame/html.ts';
import { renderInline, renderMarkdown } from './markdown.ts';

/** A field of a JSON Schema in words. */
interface Field {
  /** Path from the top, such as `links[].url`. */
  name: string;
  /** Such as `integer or null`. */
  type: string;
  isRequired: boolean;
  isSecret: boolean;
  /** Such as `1 to 30` and `default 10`, in Markdown. */
  limits: string[];
  /** The permitted values, in Markdown. */
  values: string[];
  description: string;
}

type Schema = Readonly<Record<string, unknown>>;

const NUMBERS = new Intl.NumberFormat('en');
const show = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
const isNumber = (value: unknown): value is number => typeof value === 'number';
const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((it) => typeof it === 'string') : [];
const schemas = (value: unknown): Schema[] => (Array.isArray(value) ? value.filter(isRecord) : []);

function typeOf(schema: Schema): string {
  const { type, items } = schema;
  const branches = [...schemas(schema.oneOf), ...schemas(schema.anyOf)];
  if (branches.length > 0) return [...new Set(branches.map(typeOf))].join(' or ');
  if (type === 'array' && isRecord(items)) return `array of ${typeOf(items)}s`.replace(/ss$/, 's');
  if (typeof type === 'string') return type;
  return texts(type).join(' or ') || 'any value';
}

/** A range in words. @param units with a leading space: singular and plural, such as ` entry` and ` entries` */
function range(least: unknown, most: unknown, units: readonly [string, string] = ['', '']): string[] {
  const known = [least, most].map((it) => (isNumber(it) && Math.abs(it) < 1e9 ? NUMBERS.format(it) : null));
  const [low, high] = known;
  const withUnit = (count: string): string => `${count}${count === '1' ? units[0] : units[1]}`;
  if (low != null && high != null) return [low === high ? withUnit(low) : `${low} to ${withUnit(high)}`];
  if (low != null && low !== '0') return [`At least ${withUnit(low)}`];
  return high == null ? [] : [`At most ${withUnit(high)}`];
}

function limitsOf(schema: Schema): string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema;
  return [
    ...('const' in schema ? [`Always ${show(schema.const)}`] : []),
    ...range(minimum, maximum),
    ...range(minLength, maxLength, [' character', ' characters']),
    ...range(minItems, maxItems, [' entry', ' entries']),
    ...('default' in schema ? [`Default ${show(schema.default)}`] : []),
  ];
}

const valuesOf = ({ enum: values }: Schema): string[] =>
  Array.isArray(values) ? values.filter((it) => it !== null).map(show) : [];

/** Nested objects whose fields are listed too, with the suffix that their path adds to the name. */
function inner(schema: Schema): { suffix: string; schema: Schema }[] {
  const { items, properties } = schema;
  if (isRecord(properties)) return [{ suffix: '', schema }];
  if (isRecord(items)) return inner(items).map((it) => ({ ...it, suffix: `[]${it.suffix}` }));
  return [...schemas(schema.oneOf), ...schemas(schema.anyOf)].flatMap(inner);
}

function fieldsWithin(schema: Schema, prefix: string): Field[] {
  const required = texts(schema.required);
  if (!isRecord(schema.properties)) return [];
  return Object.entries(schema.properties).flatMap(([key, property]) => {
    if (!isRecord(property)) return [];
    const name = `${prefix}${key}`;
    const description = typeof property.description === 'string' ? property.description : '';
    const field = {
      name,
      type: typeOf(property),
      isRequired: required.includes(key),
      isSecret: property.writeOnly === true,
      limits: limitsOf(property).filter((limit) => !description.startsWith(limit)),
      values: valuesOf(property),
      description,
    };
    const nested = inner(property).flatMap((it) => fieldsWithin(it.schema, `${name}${it.suffix}.`));
    // Branches of a union can share fields.
    return [field, ...new Map(nested.map((it) => [it.name, it])).values()];
  });
}

/** All fields of an object, in the order of its schema, with those of objects inside it. */
export const fieldsOf = (schema: Schema): Field[] => fieldsWithin(schema, '');

/** Longer lists of values are collapsed. */
const OPEN_VALUES = 12;

function valueList(values: readonly string[]): Html | null {
  if (values.length === 0) return null;
  if (values.length <= OPEN_VALUES)
    return html`<p class="limits">One of ${renderInline(values.join(', '))}</p>
`;
  // One element for all of them, because a page with many elements is slow.
  const list = values.join(', ').replaceAll('`', '');
  return html`<details><summary>One of ${values.length} values</summary><p class="limits"><code>${list}</code></p></details>
`;
}

/** A description of one paragraph, or of a sentence and a list. */
const descriptionMarkup = (text: string): Html =>
  text.includes('\n') ? renderMarkdown(text, () => null).body : html`<p>${renderInline(text)}</p>`;

/** @param anchor prefix of the ids of the fields @param isInput whether to mark required fields; all output fields are */
export const fieldList = (fields: readonly Field[], anchor: string, isInput: boolean): Html =>
  html`<ul class="fields">
${fields.map(
  ({ name, type, isRequired, isSecret, limits, values, description }) => html`<li id="${anchor}-${name}">
<p><a href="#${anchor}-${name}"><code class="field">${name}</code></a> <span class="type">${type}</span>${
    isInput && isRequired ? html` <span class="tag required">required</span>` : null
  }${isSecret ? html` <span class="tag">secret</span>` : null}</p>
${descriptionMarkup(description)}
${
  limits.length === 0
    ? null
    : html`<p class="limits">${renderInline(limits.join(' · '))}</p>
`
}${valueList(values)}</li>
`,
)}</ul>
`;

/** Renders the fields as a Markdown list. */
export const fieldLines = (fields: readonly Field[], isInput: boolean): string =>
  fields
    .map(({ name, type, isRequired, isSecret, limits, values, description }) => {
      const facts = [
        type,
        ...(isInput && isRequired ? ['required'] : []),
        ...(isSecret ? ['secret'] : []),
        ...(values.length === 0 ? [] : [`one of ${values.join(', ')}`]),
        ...limits,
      ];
      return `- \`${name}\` (${facts.join('; ')}): ${description}`;
    })
    .join('\n');
