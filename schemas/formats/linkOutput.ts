import type { ToolDefinition } from '../tool.ts';

/** How long the address of a file can be used, in hours. */
export const LINK_HOURS = 24;

/** Input field of every tool that returns a file. */
const OUTPUT = {
  type: 'string',
  enum: ['base64', 'link'],
  default: 'base64',
  description: `\`link\`: the file is not in the response but at \`fileUrl\`, for ${LINK_HOURS} hours.`,
} as const;

/** Output fields of every tool that returns a file. */
const FIELDS = {
  fileUrl: {
    type: ['string', 'null'],
    description:
      'Address of the file with `output: "link"`, which needs no key; null otherwise. Whoever has it can download the file.',
  },
  fileExpiresAt: {
    type: ['string', 'null'],
    format: 'date-time',
    description: 'When `fileUrl` ends at the latest; null without `fileUrl`.',
  },
} as const;

/** The values of these fields for a file in the response. */
export const NO_LINK = { fileUrl: null, fileExpiresAt: null } as const;

/** The names of the fields that a tool with a file has for links. */
export const LINK_FIELDS: { input: readonly string[]; output: readonly string[] } = {
  input: ['output'],
  output: Object.keys(FIELDS),
};

/** If a tool returns a file, adds the fields with which it can return an address of the file instead. */
export function withLinks(tool: ToolDefinition): ToolDefinition {
  const { raw, input, output, examples } = tool;
  if (raw === undefined) return tool;
  const data = output.properties[raw.data];
  const dataField = {
    ...data,
    type: ['string', 'null'],
    contentEncoding: 'base64',
    description: `${data?.description ?? ''} Null with \`output: "link"\`.`,
  };
  return {
    ...tool,
    input: { ...input, properties: { ...input.properties, output: OUTPUT } },
    output: {
      ...output,
      properties: { ...output.properties, [raw.data]: dataField, ...FIELDS },
      required: [...output.required, ...Object.keys(FIELDS)],
    },
    examples: examples.map((example) => ({ ...example, output: { ...example.output, ...NO_LINK } })),
  };
}
