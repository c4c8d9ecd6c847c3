import { isRecord } from '../../schemas/isRecord.ts';
import type { ObjectSchema } from '../../schemas/tool.ts';

/*
 * Clients put the list of tools into the context of their model in each conversation. Its descriptions and schemas are
 * therefore shorter than those of the API reference. Arguments are validated with the complete schemas, and a refusal says
 * what is wrong.
 */

/** Maximum number of values of an enumeration. A longer one becomes a text whose description names some of its values. */
const ENUM_VALUES = 40;
const ENUM_EXAMPLES = 4;
/** Keywords that are kept. Patterns and limits of lengths are left out, because few values violate them. */
const KEYWORDS = ['type', 'enum', 'minimum', 'maximum', 'default'];

type Fields = Record<string, unknown>;

const firstSentence = (text: string): string => text.split(/(?<=[.!?])\s+(?=[A-Z`])/)[0] ?? '';

function someOf(values: readonly unknown[]): string {
  const step = values.length / ENUM_EXAMPLES;
  const examples = Array.from(
    { length: ENUM_EXAMPLES },
    (_, index) => values[Math.floor((index + 0.5) * step)],
  );
  return `${values.length} names, such as ${examples.join(', ')}; the refusal of another name lists them.`;
}

function briefField(schema: Fields): Fields {
  const { description, enum: values, items, properties, required, oneOf } = schema;
  const brief = Object.fromEntries(Object.entries(schema).filter(([word]) => KEYWORDS.includes(word)));
  if (typeof description === 'string') brief.description = firstSentence(description);
  if (Array.isArray(values) && values.length > ENUM_VALUES) {
    delete brief.enum;
    brief.description = `${brief.description} ${someOf(values)}`;
  }
  if (isRecord(items)) brief.items = briefField(items);
  if (Array.isArray(oneOf)) brief.oneOf = oneOf.filter(isRecord).map(briefField);
  if (isRecord(properties)) Object.assign(brief, { properties: briefFields(properties), required });
  return brief;
}

const briefFields = (properties: Fields): Fields =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, field]) =>
      isRecord(field) ? [[name, briefField(field)]] : [],
    ),
  );

/** Shortens the schema of the arguments of a tool. @param omitted arguments that are not listed */
export const briefInput = ({ properties, required }: ObjectSchema, omitted: readonly string[] = []) => ({
  type: 'object' as const,
  properties: briefFields(
    Object.fromEntries(Object.entries(properties).filter(([name]) => !omitted.includes(name))),
  ),
  ...(required.length > 0 && { required }),
});

/**
 * The schema of the structured content of a tool's results: the names of its fields. Refusals match it too, because many
 * clients also validate the structured content of results with `isError`, and would report a refusal as invalid content.
 *
 * @param omitted fields that are not listed
 */
export const briefOutput = ({ required }: ObjectSchema, omitted: readonly string[] = []) => ({
  type: 'object' as const,
  anyOf: [
    { required: required.filter((name) => !omitted.includes(name)) },
    { required: ['code', 'retryable'] },
  ],
});
