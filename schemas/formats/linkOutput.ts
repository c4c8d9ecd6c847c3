import type { ToolDefinition } from '../tool.ts';

/** How long the address of a file can be used, in hours. */
export const LINK_HOURS = 24;

/** Input field of every tool that returns a file. */
const OUTPUT = {
  type: 'string',
  enum: ['base64', 'link'],
  default: 'base64',
  description: `How the file is returned. \`base64\`: in the response. \`link\`: under the address \`fileUrl\`, for ${LINK_HOURS} hours.`,
} as const;

/** Output fields that every tool with a file adds for `output: "link"`, so that other outputs have no field without a use. */
export const LINK_FIELDS = {
  fileUrl: {
    type: 'string',
    description:
      'Only with `output: "link"`: address of the file, which needs no key. Whoever has it can download the file.',
  },
  fileExpiresAt: {
    type: 'string',
    format: 'date-time',
    description: 'Only with `fileUrl`: when the address ends.',
  },
} as const;

/** Adds to a tool that returns a file the fields with which it returns an address of the file instead. */
export function withLinks(tool: ToolDefinition): ToolDefinition {
  const { raw, input, output } = tool;
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
      properties: { ...output.properties, [raw.data]: dataField, ...LINK_FIELDS },
    },
  };
}
