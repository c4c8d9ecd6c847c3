import { namedSchemas } from '../../api/openapi/generatorSchema.ts';
import { CODES } from '../../api/openapi/problems.ts';
import { remedyInWords } from '../../api/openapi/remedies.ts';
import { camel } from '../../api/openapi/toolPath.ts';
import { creditsOf } from '../../schemas/callErrors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { ObjectSchema, ToolDefinition } from '../../schemas/tool.ts';
import { type ClientOperation, type ClientTool, type Definitions, NOTICE } from './definitions.ts';

const HEAD = `// ${NOTICE}\n`;
const WIDTH = 100;

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function comment(text: string, indent: string): string {
  const lines = wrap(text.replaceAll('*/', '*\\/'), WIDTH);
  if (lines.length === 0 || text === '') return '';
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

const union = (types: string[]): string => [...new Set(types)].join(' | ');
const literal = (value: unknown): string => JSON.stringify(value);
/** The schema's default, for a comment. */
const defaultOf = (schema: Record<string, unknown>): string =>
  schema.default === undefined || schema.default === null ? '' : ` Default: ${literal(schema.default)}.`;

/** Options of a type: inputs are readonly, outputs are not. */
interface Place {
  isInput: boolean;
  indent: string;
}

function arrayType(items: unknown, place: Place): string {
  const type = typeOf(items, place);
  const isUnion = isRecord(items) && (Array.isArray(items.anyOf) || Array.isArray(items.oneOf));
  const item = /[ |]/.test(type) && (isUnion || !type.startsWith('{')) ? `(${type})` : type;
  return `${place.isInput ? 'readonly ' : ''}${item}[]`;
}

function objectType(schema: Record<string, unknown>, place: Place): string {
  if (isRecord(schema.properties)) return fields(schema, place);
  const values = isRecord(schema.additionalProperties)
    ? typeOf(schema.additionalProperties, place)
    : 'unknown';
  return `Record<string, ${values}>`;
}

function basicType(type: unknown, schema: Record<string, unknown>, place: Place): string {
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'array') return arrayType(schema.items, place);
  if (type === 'object') return objectType(schema, place);
  return type === 'string' || type === 'boolean' || type === 'null' ? type : 'unknown';
}

function typeOf(schema: unknown, place: Place): string {
  const name = namedSchemas.get(schema);
  if (name !== undefined) return name;
  if (!isRecord(schema)) return 'unknown';
  const { const: only, enum: values, oneOf, anyOf = oneOf, type } = schema;
  if (only !== undefined) return literal(only);
  if (Array.isArray(values)) return union(values.map(literal));
  if (Array.isArray(anyOf)) return union(anyOf.map((part) => typeOf(part, place)));
  const types: unknown[] = Array.isArray(type) ? type : [type];
  return union(types.map((one) => basicType(one, schema, types.length > 1 ? { ...place } : place)));
}

function fields(schema: Record<string, unknown>, place: Place): string {
  const required: unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const indent = `${place.indent}  `;
  const lines = Object.entries(isRecord(schema.properties) ? schema.properties : {}).map(
    ([name, property]) => {
      const about = isRecord(property) ? `${property.description ?? ''}${defaultOf(property)}`.trim() : '';
      const type = typeOf(property, { ...place, indent });
      const key = /^[A-Za-z_]\w*$/.test(name) ? name : literal(name);
      const optional = required.includes(name) ? `${key}: ${type}` : `${key}?: ${type} | undefined`;
      return `${comment(about, indent)}${indent}${optional};\n`;
    },
  );
  return `{\n${lines.join('')}${place.indent}}`;
}

const declaration = (name: string, schema: ObjectSchema, about: string): string =>
  `${comment(about, '')}export interface ${name} ${fields(schema, {
    isInput: /Input$|Query$|Change$|Request$|Rotation$/.test(name),
    indent: '',
  })}\n`;

/** Returns the types of all inputs and outputs of tools, of the items of lists, and of webhook events. */
export const typesFile = ({ schemas, events }: Definitions): string =>
  [
    HEAD,
    ...schemas.map(({ name, schema, about }) => declaration(name, schema, about)),
    `/** An event as an endpoint receives it. */\nexport type WebhookEvent = ${events.join(' | ')};\n`,
  ].join('\n');

/** The codes of all errors, with advice for the caller. */
export const errorsFile = (): string =>
  `${HEAD}
/** Advice for each error of the service, by its stable code. */
export const REMEDIES = {
${CODES.map((code) => `  ${code}: ${literal(remedyInWords(code))},\n`).join('')}} as const;

/** Stable code of an error of the service. */
export type ErrorCode = keyof typeof REMEDIES;
`;

/** The output fields that form a file, as the client needs them. */
const fileFields = ({ data, mimeType, fileName }: NonNullable<ToolDefinition['raw']>) => ({
  ...{ data, mimeType },
  ...(fileName !== undefined && { fileName }),
});

function toolMethod({ tool, input, output, hasSecrets }: ClientTool): string {
  const { name, title, price, description, raw } = tool;
  const info = literal({ name, hasSecrets });
  const [result, run] =
    raw === undefined
      ? [`Result<${output}>`, `this.run<${output}>(${info}, input, options)`]
      : [
          `FileResult<${output}>`,
          `this.runForFile<${output}>(${info}, ${literal(fileFields(raw))}, input, options)`,
        ];
  return `${comment(`${title} (${creditsOf(price)}). ${description}`, '  ')}  ${camel(name)}(input: ${input}, options?: CallOptions): Promise<${result}> {
    return ${run};
  }
`;
}

const imports = (names: Iterable<string>): string =>
  `import type {\n${[...new Set(names)]
    .sort()
    .map((name) => `  ${name},\n`)
    .join('')}} from './types.ts';\n`;

/** The types of the tools that jobs can call, and the files in their outputs. */
const jobTypes = (tools: readonly ClientTool[]): string => `
/** Input and output of each tool that jobs can call, by its name. */
export interface JobTypes {
${tools.map(({ tool, input, output }) => `  ${literal(tool.name)}: { input: ${input}; output: ${output} };\n`).join('')}}

/** The fields that form the file of a tool, by the name of the tool. */
export const JOB_FILES: Readonly<Record<string, FileFields>> = {
${tools.flatMap(({ tool: { name, raw } }) => (raw === undefined ? [] : [`  ${literal(name)}: ${literal(fileFields(raw))},\n`])).join('')}};
`;

/** A class with a method for each tool. */
export const toolsFile = ({ tools }: Definitions): string => `${HEAD}
import type { CallOptions } from '../options.ts';
import type { FileFields, FileResult, Result, ToolInfo } from '../result.ts';
${imports(tools.flatMap(({ input, output }) => [input, output]))}
/** A method for each tool. */
export abstract class ToolMethods {
  protected abstract run<T extends object>(tool: ToolInfo, input: object, options?: CallOptions): Promise<Result<T>>;
  protected abstract runForFile<T extends object>(
    tool: ToolInfo,
    fields: FileFields,
    input: object,
    options?: CallOptions,
  ): Promise<FileResult<T>>;

${tools.map(toolMethod).join('\n')}}
${jobTypes(tools.filter(({ hasSecrets }) => !hasSecrets))}`;

function operationMethod({ operation, hasId, query, body, result, isList }: ClientOperation): string {
  const { id, method, path, summary, description = '' } = operation;
  const parameters = [
    ...(hasId ? ['id: string'] : []),
    ...(query === null ? [] : [`query: ${query} = {}`]),
    ...(body === null ? [] : [`body: ${body.type}${body.isRequired ? '' : ' = {}'}`]),
    'options?: RequestOptions',
  ].join(', ');
  const url = path.replace('{', '${encodeURIComponent(').replace('}', ')}');
  const request = [
    `method: '${method.toUpperCase()}'`,
    hasId ? `path: \`${url}\`` : `path: '${url}'`,
    ...(query === null ? [] : ['query']),
    ...(body === null ? [] : ['body']),
  ].join(', ');
  const about = comment(
    `${summary}. ${description}${isList ? ' Fetches page after page while you iterate.' : ''}`,
    '  ',
  );
  if (isList)
    return `${about}  ${id}(${parameters}): AsyncGenerator<${result}, void, undefined> {
    return this.list<${result}>({ ${request} }, options);
  }
`;
  return `${about}  ${id}(${parameters}): Promise<${result ?? 'void'}> {
    return this.${result === null ? 'send' : `read<${result}>`}({ ${request} }, options);
  }
`;
}

/** A class with a method for each operation of the Account API. */
export const accountFile = ({ operations }: Definitions): string => `${HEAD}
import type { AccountRequest, RequestOptions } from '../options.ts';
${imports(
  operations.flatMap(({ query, body, result }) =>
    [query, body?.type, result].filter((name) => typeof name === 'string'),
  ),
)}
/** A method for each operation of the Account API. */
export abstract class AccountMethods {
  protected abstract send(request: AccountRequest, options?: RequestOptions): Promise<void>;
  protected abstract read<T>(request: AccountRequest, options?: RequestOptions): Promise<T>;
  protected abstract list<T>(request: AccountRequest, options?: RequestOptions): AsyncGenerator<T, void, undefined>;

${operations.map(operationMethod).join('\n')}}
`;

function commandOption(name: string, property: Record<string, unknown>, required: readonly string[]): object {
  const { type, items, enum: choices, writeOnly, default: fallback, description } = property;
  const types: unknown[] = Array.isArray(type) ? type : [type];
  const ofStrings = isRecord(items) && items.type === 'string';
  const kind = types.includes('array') && ofStrings ? 'list' : types.find((one) => one !== 'null');
  return {
    field: name,
    kind: kind === undefined || kind === 'object' || kind === 'array' ? 'json' : kind,
    isRequired: required.includes(name),
    isSecret: writeOnly === true,
    ...(Array.isArray(choices) ? { choices } : {}),
    ...(fallback === undefined || fallback === null ? {} : { fallback: literal(fallback) }),
    about: description ?? '',
  };
}

/** The tools and their options, for the command line. */
export function commandsFile({ tools }: Definitions): string {
  const commands = tools.map(({ tool, hasSecrets }) => ({
    name: tool.name,
    title: tool.title,
    price: tool.price,
    description: tool.description,
    hasSecrets,
    file: tool.raw === undefined ? null : fileFields(tool.raw),
    // The command saves files, and has an option of the same name for the path.
    options: Object.entries(tool.input.properties)
      .filter(([name]) => tool.raw === undefined || name !== 'output')
      .map(([name, property]) => commandOption(name, property, tool.input.required)),
  }));
  return `${HEAD}
import type { Command } from '../cli/command.ts';

/** The tools with their options. */
export const COMMANDS: readonly Command[] = ${JSON.stringify(commands, null, 2)};
`;
}
