import { camel } from '../../api/openapi/toolPath.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { PropertySchema, ToolDefinition } from '../../schemas/tool.ts';
import { groupTools, summaryOf } from '../../schemas/toolGroups.ts';
import { type Definitions, NOTICE } from './definitions.ts';

/** A property of an n8n node (`INodeProperties`), or a part of one. */
type Property = Record<string, unknown>;

/** Words of field names that are abbreviations, as n8n's forms write them. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  url: 'URL',
  html: 'HTML',
  dnssec: 'DNSSEC',
  ms: '(Ms)',
};
/** Length in characters above which a text gets several lines. */
const LINE = 1000;

/** `fullPage` -> `Full Page` */
const labelOf = (name: string): string =>
  name
    .split(/(?=[A-Z])/)
    .map((word) => ABBREVIATIONS[word.toLowerCase()] ?? word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ');

/** n8n shows descriptions without Markdown. */
const plain = (text: unknown): string => String(text ?? '').replaceAll('`', '');

const choicesOf = (values: readonly unknown[]): Property[] =>
  values
    .map((value) => ({ name: String(value), value }))
    .sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));

/** Types of a field, without null. */
const typesOf = ({ type, oneOf }: PropertySchema): unknown[] =>
  (Array.isArray(oneOf) ? oneOf.map((part) => (isRecord(part) ? part.type : null)) : [type].flat()).filter(
    (it) => it !== 'null',
  );

const isChoiceList = ({ items }: PropertySchema): boolean => isRecord(items) && Array.isArray(items.enum);
const isObject = (schema: PropertySchema): boolean => typesOf(schema).includes('object');
/** Whether the user enters a field as JSON. */
const isJson = (schema: PropertySchema): boolean =>
  isObject(schema) || (typesOf(schema).includes('array') && !isChoiceList(schema));
/** Whether a field is entered as text, and a text of digits is a number. */
const isTextOrNumber = (schema: PropertySchema): boolean =>
  typesOf(schema).includes('string') && typesOf(schema).includes('integer');

/** Type, default and options of a field in n8n. */
function inputOf(schema: PropertySchema): Property {
  const { enum: choices, default: fallback, minimum, maximum, maxLength, writeOnly, items } = schema;
  if (Array.isArray(choices)) {
    const options = choicesOf(choices);
    return { type: 'options', options, default: fallback ?? options[0]?.value };
  }
  if (isChoiceList(schema) && isRecord(items) && Array.isArray(items.enum))
    return { type: 'multiOptions', options: choicesOf(items.enum), default: fallback ?? [] };
  if (isJson(schema)) return { type: 'json', default: isObject(schema) ? '{}' : '[]' };
  const [type] = typesOf(schema);
  if (type === 'boolean') return { type: 'boolean', default: fallback ?? false };
  if (type === 'integer' || type === 'number')
    return {
      type: 'number',
      typeOptions: {
        ...(minimum !== undefined && { minValue: minimum }),
        ...(maximum !== undefined && { maxValue: maximum }),
        numberPrecision: type === 'integer' ? 0 : 2,
      },
      default: fallback ?? minimum ?? 0,
    };
  const isLong = typeof maxLength === 'number' ? maxLength > LINE : schema.type === 'string';
  const typeOptions =
    writeOnly === true ? { password: true } : isLong && !isUrl(schema) ? { rows: 4 } : undefined;
  return { type: 'string', ...(typeOptions && { typeOptions }), default: fallback ?? '' };
}

const isUrl = ({ description = '' }: PropertySchema): boolean => /\bURL\b/.test(description);

const fieldOf = (name: string, schema: PropertySchema): Property => ({
  displayName: labelOf(name),
  name,
  ...inputOf(schema),
  description: plain(schema.description),
});

/** Where a property is shown: with this tool, and with these values of its other properties. */
const shown = (resource: string, tool: ToolDefinition, also: Record<string, unknown> = {}): Property => ({
  displayOptions: { show: { resource: [resource], operation: [tool.name], ...also } },
});

/** How the node gets a file: from the item, or from a URL. */
const fileInput = (resource: string, tool: ToolDefinition): Property[] => [
  {
    displayName: 'File From',
    name: 'fileFrom',
    type: 'options',
    options: [
      { name: 'Item', value: 'item', description: 'A binary field of the input item' },
      { name: 'URL', value: 'url', description: 'A public URL, or the ID of an uploaded file' },
    ],
    default: 'item',
    ...shown(resource, tool),
  },
  {
    displayName: 'Input Binary Field',
    name: 'binaryPropertyName',
    type: 'string',
    default: 'data',
    required: true,
    hint: 'The name of the input field that contains the file',
    ...shown(resource, tool, { fileFrom: ['item'] }),
  },
  {
    ...fieldOf('fileUrl', tool.input.properties.fileUrl ?? {}),
    required: true,
    ...shown(resource, tool, { fileFrom: ['url'] }),
  },
];

const FILE_OUTPUT: Property = {
  displayName: 'Put Output File in Field',
  name: 'outputBinaryPropertyName',
  type: 'string',
  default: 'data',
  description: 'The name of the output binary field that gets the file',
};

const takesFile = ({ input }: ToolDefinition): boolean => 'fileUrl' in input.properties;

function toolProperties(resource: string, tool: ToolDefinition): Property[] {
  const fields = Object.entries(tool.input.properties).filter(([name]) => name !== 'fileUrl');
  const { required } = tool.input;
  const options = fields
    .filter(([name]) => !required.includes(name))
    .map(([name, schema]) => fieldOf(name, schema));
  if (tool.raw !== undefined) options.push(FILE_OUTPUT);
  return [
    ...(takesFile(tool) ? fileInput(resource, tool) : []),
    ...fields
      .filter(([name]) => required.includes(name))
      .map(([name, schema]) => ({ ...fieldOf(name, schema), required: true, ...shown(resource, tool) })),
    ...(options.length === 0
      ? []
      : [
          {
            displayName: 'Additional Options',
            name: 'additionalOptions',
            type: 'collection',
            placeholder: 'Add Option',
            default: {},
            options: options.sort((a, b) => String(a.displayName).localeCompare(String(b.displayName), 'en')),
            ...shown(resource, tool),
          },
        ]),
  ];
}

/** What the node has to know of a tool to call it. */
function callOf(tool: ToolDefinition, hasSecrets: boolean): object {
  const fields = Object.entries(tool.input.properties);
  const names = (matches: (schema: PropertySchema) => boolean): string[] =>
    fields.filter(([, schema]) => matches(schema)).map(([name]) => name);
  return {
    required: tool.input.required.filter((name) => name !== 'fileUrl'),
    json: names(isJson),
    textOrNumber: names(isTextOrNumber),
    takesFile: takesFile(tool),
    hasSecrets,
    ...(tool.raw !== undefined && {
      file: { data: tool.raw.data, mimeType: tool.raw.mimeType, fileName: tool.raw.fileName ?? null },
    }),
  };
}

/** The properties of the n8n node, each shown for its tool, and what the node has to know of the tools. */
export function n8nFile({ tools }: Definitions): string {
  const groups = groupTools(tools.map(({ tool }) => tool)).map(({ title, tools: members }) => ({
    resource: camel(title.toLowerCase().replaceAll(' ', '-')),
    name: labelOf(camel(title.toLowerCase().replaceAll(' ', '-'))),
    members: [...members].sort((a, b) => a.title.localeCompare(b.title, 'en')),
  }));
  const properties: Property[] = [
    {
      displayName: 'Resource',
      name: 'resource',
      type: 'options',
      noDataExpression: true,
      options: groups
        .map(({ resource, name }) => ({ name, value: resource }))
        .sort((a, b) => a.name.localeCompare(b.name, 'en')),
      default: groups[0]?.resource,
    },
    ...groups.map(({ resource, members }) => ({
      displayName: 'Operation',
      name: 'operation',
      type: 'options',
      noDataExpression: true,
      displayOptions: { show: { resource: [resource] } },
      options: members.map((tool) => ({
        name: tool.title,
        value: tool.name,
        action: tool.title,
        description: plain(summaryOf(tool)),
      })),
      default: members[0]?.name,
    })),
    ...groups.flatMap(({ resource, members }) => members.flatMap((tool) => toolProperties(resource, tool))),
  ];
  const calls = Object.fromEntries(
    tools.map(({ tool, hasSecrets }) => [tool.name, callOf(tool, hasSecrets)]),
  );
  return `// ${NOTICE}

import type { INodeProperties } from 'n8n-workflow';

/** A tool, as the node calls it. */
export interface ToolCall {
  /** Required fields, which are parameters of the node. The others are in its additional options. */
  required: string[];
  /** Fields that are entered as JSON. */
  json: string[];
  /** Fields in which a text of digits is a number. */
  textOrNumber: string[];
  takesFile: boolean;
  /** Whether the input has secret fields. The service keeps nothing of such calls, so that none can be replayed. */
  hasSecrets: boolean;
  /** The output fields that form a file. */
  file?: { data: string; mimeType: string; fileName: string | null };
}

export const TOOLS: Readonly<Record<string, ToolCall>> = ${JSON.stringify(calls, null, 2)};

export const PROPERTIES: INodeProperties[] = ${JSON.stringify(properties, null, 2)};
`;
}
