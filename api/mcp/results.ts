import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { isRetryable, type ServiceError } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { ProducedFile } from '../../store/files/links.ts';
import { ageOf } from '../calls/answer.ts';
import type { Answer } from '../calls/toolCall.ts';
import { problemBody } from '../http/problem.ts';
import { remedyInWords } from '../openapi/remedies.ts';

type Fields = Record<string, unknown>;

const textOf = (text: string): ContentBlock => ({ type: 'text', text });

/**
 * Creates the result of a tool that returns no file: its fields as structured content and, for older clients, as JSON
 * text.
 */
export const fieldsResult = (fields: Fields, meta?: Fields): CallToolResult => ({
  content: [textOf(JSON.stringify(fields))],
  structuredContent: fields,
  ...(meta && { _meta: meta }),
});

/**
 * Start of the base64 data of each image type that models can read. Content of type `image` that a model cannot read makes clients
 * fail, so other files are embedded resources.
 */
const IMAGES: Readonly<Record<string, RegExp>> = {
  'image/png': /^iVBORw0KGgo/,
  'image/jpeg': /^\/9j\//,
  'image/gif': /^R0lGOD[dl]h/,
  'image/webp': /^UklGR.{6}XRUJQ/,
};

/**
 * Limits of images, those of Anthropic's API: 5 MB in base64, and 8,000 pixels in each direction. A larger image would make
 * not only this request of the client fail, but each later one of the conversation too.
 */
const IMAGE_CHARACTERS = 5_000_000;
const IMAGE_PIXELS = 8000;
const TOO_LARGE =
  'The image is too large for a model and is therefore attached as a file. To see it, request a smaller one.';

const fitsModel = (data: string, { width, height }: Fields): boolean =>
  data.length <= IMAGE_CHARACTERS && [width, height].every((edge) => !(Number(edge) > IMAGE_PIXELS));

/** Largest file in bytes that is embedded: a model can do nothing with it, and clients keep it in the conversation. */
const EMBEDDED_BYTES = 100 * 1024;

/** Stores a file and returns its address. */
type LinkFile = (file: ProducedFile) => Promise<string>;

/** Creates the content with the file of a result: an image, an embedded resource, or a link to a large file. `data` is base64. */
async function fileContent(
  fields: Fields,
  data: string,
  mimeType: string,
  name: string,
  requestId: string,
  linkFile: LinkFile,
): Promise<ContentBlock[]> {
  const isImage = IMAGES[mimeType]?.test(data) === true;
  if (isImage && fitsModel(data, fields)) return [{ type: 'image', data, mimeType }];
  const bytes = Buffer.from(data, 'base64');
  // A file that cannot be stored is embedded.
  const link =
    bytes.length > EMBEDDED_BYTES ? await linkFile({ bytes, type: mimeType, name }).catch(() => null) : null;
  const uri = link ?? `result://${requestId}/${encodeURIComponent(name)}`;
  const resource: ContentBlock =
    link === null
      ? { type: 'resource', resource: { uri, mimeType, blob: data } }
      : { type: 'resource_link', uri, mimeType, name };
  return isImage ? [resource, textOf(TOO_LARGE)] : [resource];
}

/**
 * Creates the result of a successful call. A file is returned as content and never as base64 in the text.
 *
 * @param json the stored output of the tool
 */
export async function callResult(
  tool: ToolDefinition,
  json: string | Buffer,
  outcome: Pick<Answer, 'requestId' | 'charged' | 'available' | 'replayed' | 'reused'>,
  linkFile: LinkFile,
): Promise<CallToolResult> {
  const output: unknown = JSON.parse(json.toString());
  if (!isRecord(output)) throw new TypeError(`the output of ${tool.name} is not an object`);
  const meta = {
    cost: tool.price,
    charged: outcome.charged,
    remaining: outcome.available,
    requestId: outcome.requestId,
    replayed: outcome.replayed,
    ...(outcome.reused !== null && {
      resultFrom: outcome.reused.callId,
      ageSeconds: ageOf(outcome.reused),
    }),
  };
  const { raw, optionalFile } = tool;
  const withFile = async (
    fields: Fields,
    data: unknown,
    mimeType: string,
    name: string,
  ): Promise<CallToolResult> => {
    const result = fieldsResult(fields, meta);
    const file = await fileContent(fields, String(data), mimeType, name, outcome.requestId, linkFile);
    return { ...result, content: [...file, ...result.content] };
  };
  if (raw !== undefined) {
    const { [raw.data]: data, ...fields } = output;
    const named = raw.fileName === undefined ? undefined : output[raw.fileName];
    const [mimeType, name] = [String(output[raw.mimeType]), String(named ?? tool.name)];
    if (typeof data === 'string') return withFile(fields, data, mimeType, name);
    const link: ContentBlock = { type: 'resource_link', uri: String(fields.fileUrl), mimeType, name };
    const result = fieldsResult(fields, meta);
    return { ...result, content: [link, ...result.content] };
  }
  const mimeType = optionalFile?.mimeTypeOf(output) ?? null;
  if (optionalFile === undefined || mimeType === null) return fieldsResult(output, meta);
  return withFile({ ...output, [optionalFile.data]: null }, output[optionalFile.data], mimeType, tool.name);
}

/**
 * Creates the result of a call that was refused or failed: the problem details object, with `retryable`, which says
 * whether repeating the call may help.
 */
export function refusal(error: ServiceError, requestId: string): CallToolResult {
  const problem = { ...problemBody(error, requestId), retryable: isRetryable(error.code) };
  const faults = (error.members.errors ?? []).map(({ pointer, message }) => `${pointer || '/'} ${message}`);
  const detail = error.detail.replace(' "errors" lists the faults.', '');
  const text = [detail, ...faults, remedyInWords(error.code), 'Nothing was charged.'].join('\n');
  return { isError: true, content: [textOf(text)], structuredContent: problem };
}
