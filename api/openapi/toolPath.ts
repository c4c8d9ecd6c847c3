import type { PropertySchema, ToolDefinition } from '../../schemas/tool.ts';
import { kebab } from '../calls/sendResult.ts';
import { codesOfTool } from './codes.ts';
import { headerRefs, TOOL_ANSWER } from './headers.ts';
import { problemResponses } from './problems.ts';

type Json = Record<string, unknown>;

/** `hash-text` -> `HashText` */
const pascal = (name: string): string =>
  name.replaceAll(/(?:^|-)(\w)/g, (_all, letter) => letter.toUpperCase());
const camel = (name: string): string => name.replaceAll(/-(\w)/g, (_all, letter) => letter.toUpperCase());

const inputName = ({ name }: ToolDefinition): string => `${pascal(name)}Input`;
const outputName = ({ name }: ToolDefinition): string => `${pascal(name)}Output`;

/** The tool's schemas by their names in `components.schemas`. */
export const toolSchemas = (tool: ToolDefinition): Json => ({
  [inputName(tool)]: tool.input,
  [outputName(tool)]: tool.output,
});

/** The media types that a schema of a `mimeType` field allows. */
function mediaTypes(schema: PropertySchema | undefined): string[] {
  if (typeof schema?.const === 'string') return [schema.const];
  return Array.isArray(schema?.enum) ? schema.enum.filter((type) => typeof type === 'string') : [];
}

/** The headers that carry the other fields when the file itself is the answer. */
const rawHeaders = ({ output, raw }: ToolDefinition): Json =>
  Object.fromEntries([
    ...Object.entries(output.properties)
      .filter(([field]) => field !== raw?.data)
      .map(([field, { description }]) => [
        `X-Result-${kebab(field)}`,
        {
          description: `With a raw answer, percent-encoded: ${description}`,
          schema: { type: 'string' },
        },
      ]),
    ['Content-Disposition', { description: 'With a raw answer: the file name.', schema: { type: 'string' } }],
  ]);

const examples = (tool: ToolDefinition, side: 'input' | 'output'): Json =>
  Object.fromEntries(
    tool.examples.map((example, index) => [`example${index + 1}`, { value: example[side] }]),
  );

function success(tool: ToolDefinition): Json {
  const { raw } = tool;
  const types = raw === undefined ? [] : mediaTypes(tool.output.properties[raw.mimeType]);
  return {
    description:
      types.length === 0
        ? 'The result.'
        : `The result, as JSON; or the file itself when \`Accept\` ranks its type (${types.join(', ')}) above JSON. ` +
          'The other fields are headers then.',
    headers: {
      ...headerRefs([...TOOL_ANSWER, 'Idempotent-Replayed']),
      ...(raw === undefined ? {} : rawHeaders(tool)),
    },
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${outputName(tool)}` },
        examples: examples(tool, 'output'),
      },
      // OpenAPI 3.1: the bytes of a media type that is no text have no schema.
      ...Object.fromEntries(types.map((type) => [type, {}])),
    },
  };
}

/** The path item of one tool. */
export const toolPath = (tool: ToolDefinition): Json => ({
  post: {
    operationId: camel(tool.name),
    tags: ['Tools'],
    summary: `${tool.title} (${tool.price} ${tool.price === 1 ? 'credit' : 'credits'})`,
    description: tool.description,
    'x-price': tool.price,
    'x-pool': tool.pool,
    security: [{ apiKey: ['tools'] }],
    parameters: ['IdempotencyKey', 'MaxCredits'].map((name) => ({ $ref: `#/components/parameters/${name}` })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${inputName(tool)}` },
          examples: examples(tool, 'input'),
        },
      },
    },
    responses: { 200: success(tool), ...problemResponses(codesOfTool(tool), TOOL_ANSWER) },
  },
});
