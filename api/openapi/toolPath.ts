import { creditsOf } from '../../schemas/callErrors.ts';
import { type PropertySchema, secretFields, type ToolDefinition } from '../../schemas/tool.ts';
import { kebab } from '../calls/answer.ts';
import { codesOfTool } from './codes.ts';
import { forGenerators } from './generatorSchema.ts';
import { BINARY, headerRefs, TOOL_HEADERS } from './headers.ts';
import { problemResponses, type SharedResponses } from './problems.ts';

type Json = Record<string, unknown>;

/** `hash-text` -> `HashText` */
export const pascal = (name: string): string =>
  name.replaceAll(/(?:^|-)(\w)/g, (_all, letter) => letter.toUpperCase());
/** `hash-text` -> `hashText` */
export const camel = (name: string): string =>
  name.replaceAll(/-(\w)/g, (_all, letter) => letter.toUpperCase());

const inputName = ({ name }: ToolDefinition): string => `${pascal(name)}Input`;
const outputName = ({ name }: ToolDefinition): string => `${pascal(name)}Output`;

/** The tool's schemas by their names in `components.schemas`. */
export const toolSchemas = (tool: ToolDefinition): Json => ({
  [inputName(tool)]: forGenerators(tool.input),
  [outputName(tool)]: forGenerators(tool.output),
});

/** The media types that the schema of a `mimeType` field permits. */
function mediaTypes(schema: PropertySchema | undefined): string[] {
  if (typeof schema?.const === 'string') return [schema.const];
  return Array.isArray(schema?.enum) ? schema.enum.filter((type) => typeof type === 'string') : [];
}

/** The headers that carry the remaining output fields when the body is the file itself. */
const rawHeaders = ({ output, raw }: ToolDefinition): Json =>
  Object.fromEntries([
    ...Object.entries(output.properties)
      .filter(([field]) => field !== raw?.data && raw?.jsonOnly?.includes(field) !== true)
      .map(([field, { description }]) => [
        `X-Result-${kebab(field)}`,
        {
          description: `With a raw response, percent-encoded: ${description}`,
          schema: { type: 'string' },
        },
      ]),
    [
      'Content-Disposition',
      { description: 'With a raw response: the file name.', schema: { type: 'string' } },
    ],
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
        : `The result as JSON, or the file itself if \`Accept\` ranks its type (${types.join(', ')}) above JSON. ` +
          'If the response is the raw file, the other output fields are sent as `X-Result-<Field-Name>` headers.',
    headers: {
      ...headerRefs([...TOOL_HEADERS, 'Idempotent-Replayed', 'Payment-Receipt']),
      ...(tool.input.properties.maxAge === undefined ? {} : headerRefs(['Age', 'X-Result-From'])),
      ...(raw === undefined ? {} : rawHeaders(tool)),
    },
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${outputName(tool)}` },
        examples: examples(tool, 'output'),
      },
      ...Object.fromEntries(types.map((type) => [type, BINARY])),
    },
  };
}

/** Whether jobs can call the tool: the input of a job is stored, and secrets never are. */
const isJob = (tool: ToolDefinition): boolean => secretFields(tool).length === 0;

/**
 * Only the descriptions say these: a second response of 2xx would make the result of each method in generated clients either of
 * two types, and a second type of the body gives clients of TypeScript that do not compile. For them, `createJob` and `createFile` are
 * operations of their own.
 */
const PREFER =
  'With the header `Prefer: respond-async` (RFC 7240), the call becomes a job, as by `createJob`: the response is 202 with the job.';
const FORM =
  'The body can be `multipart/form-data` instead of JSON: the file in the part `file` instead of `fileUrl`, and the other fields as parts.';

const descriptionOf = (tool: ToolDefinition): string =>
  [
    tool.description,
    ...('fileUrl' in tool.input.properties ? [FORM] : []),
    ...(isJob(tool) ? [PREFER] : []),
  ].join('\n\n');

export const toolPath = (tool: ToolDefinition, shared: SharedResponses): Json => ({
  post: {
    operationId: camel(tool.name),
    tags: ['Tools'],
    summary: `${tool.title} (${creditsOf(tool.price)})`,
    description: descriptionOf(tool),
    'x-price': tool.price,
    'x-pool': tool.pool,
    security: [{ toolKey: [] }],
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
    responses: { 200: success(tool), ...problemResponses(codesOfTool(tool), TOOL_HEADERS, shared) },
  },
});
