import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { isRetryable, type ServiceError } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { ToolCallOutcome } from '../calls/toolCallService.ts';
import { problemBody } from '../http/problem.ts';
import { REMEDIES } from '../openapi/remedies.ts';

type Fields = Record<string, unknown>;

const textOf = (text: string): ContentBlock => ({ type: 'text', text });

/** The result of a tool without a file: the fields as structured content and, for older clients, as text. */
export const fieldsResult = (fields: Fields, meta?: Fields): CallToolResult => ({
  content: [textOf(JSON.stringify(fields))],
  structuredContent: fields,
  ...(meta && { _meta: meta }),
});

/** The file of a result: an image, or an embedded resource. `data` is Base64. */
function fileContent(data: string, mimeType: string, name: string, requestId: string): ContentBlock {
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType };
  const uri = `result://${requestId}/${encodeURIComponent(name)}`;
  return { type: 'resource', resource: { uri, mimeType, blob: data } };
}

/**
 * The result of a successful call. A file is sent as content and never as Base64 in a text.
 *
 * @param json the stored output of the tool
 */
export function callResult(
  tool: ToolDefinition,
  json: string | Buffer,
  outcome: ToolCallOutcome,
): CallToolResult {
  const output: unknown = JSON.parse(json.toString());
  if (!isRecord(output)) throw new TypeError(`the output of ${tool.name} is not an object`);
  const meta = {
    cost: tool.price,
    charged: outcome.charged,
    remaining: outcome.available,
    requestId: outcome.requestId,
    replayed: outcome.replayed,
  };
  const { raw } = tool;
  if (raw === undefined) return fieldsResult(output, meta);
  const { [raw.data]: data, ...fields } = output;
  const named = raw.fileName === undefined ? undefined : output[raw.fileName];
  const result = fieldsResult(fields, meta);
  const file = fileContent(
    String(data),
    String(output[raw.mimeType]),
    String(named ?? tool.name),
    outcome.requestId,
  );
  return { ...result, content: [file, ...result.content] };
}

/** The result of a call that was refused or failed: the problem object, and whether repeating the call may help. */
export function refusal(error: ServiceError, requestId: string): CallToolResult {
  const problem = { ...problemBody(error, requestId), retryable: isRetryable(error.code) };
  const faults = (error.members.errors ?? []).map(({ pointer, message }) => `${pointer || '/'} ${message}`);
  const text = [error.detail, ...faults, REMEDIES[error.code], 'Nothing was charged.'].join('\n');
  return { isError: true, content: [textOf(text)], structuredContent: problem };
}
