import { createHash, randomUUID } from 'node:crypto';
import {
  type IDataObject,
  type IExecuteFunctions,
  type IHttpRequestOptions,
  type INodeExecutionData,
  NodeApiError,
  NodeOperationError,
} from 'n8n-workflow';
import { TOOLS, type ToolCall } from './generated';

const CREDENTIALS = 'utilityToolsApi';
/** The service answers within 105 s. */
const TIMEOUT_MS = 110_000;

export const isRecord = (value: unknown): value is IDataObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value as the service takes it. */
function asSent(context: IExecuteFunctions, tool: ToolCall, item: number, name: string, value: unknown) {
  if (typeof value !== 'string') return value;
  if (tool.textOrNumber.includes(name) && /^\d+$/.test(value)) return Number(value);
  if (!tool.json.includes(name)) return value;
  try {
    const parsed: unknown = JSON.parse(value);
    return parsed;
  } catch {
    throw new NodeOperationError(context.getNode(), `The option ${name} is not valid JSON`, {
      itemIndex: item,
    });
  }
}

/** Returns the input of the tool: the required parameters, and the options that have a value. */
function inputOf(context: IExecuteFunctions, tool: ToolCall, options: IDataObject, item: number) {
  const required = tool.required.map((name) => [name, context.getNodeParameter(name, item)] as const);
  const given = Object.entries(options).filter(
    ([name, value]) => value !== '' && name !== 'outputBinaryPropertyName',
  );
  return Object.fromEntries(
    [...required, ...given].map(([name, value]) => [name, asSent(context, tool, item, name, value)]),
  );
}

/** Escapes a file name for a form, as browsers do. */
const escaped = (name: string): string =>
  name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

interface Body {
  body: Buffer;
  contentType: string;
  /** Hash of the input, which is the same for each attempt. */
  digest: string;
}

const hashOf = (...parts: (string | Buffer)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('base64url');
};

const jsonBody = (input: object): Body => {
  const text = JSON.stringify(input);
  return { body: Buffer.from(text), contentType: 'application/json', digest: hashOf(text) };
};

/** A form with the file of the item and the other fields. */
async function formBody(context: IExecuteFunctions, input: object, item: number): Promise<Body> {
  const field = String(context.getNodeParameter('binaryPropertyName', item));
  const { fileName = 'file', mimeType } = context.helpers.assertBinaryData(item, field);
  const file = await context.helpers.getBinaryDataBuffer(item, field);
  const boundary = `utility-tools-${randomUUID()}`;
  const part = (disposition: string, more = '') =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n`;
  const fields = Object.entries(input).map(
    ([name, value]) =>
      `${part(`name="${name}"`)}${typeof value === 'string' ? value : JSON.stringify(value)}\r\n`,
  );
  const head = part(`name="file"; filename="${escaped(fileName)}"`, `Content-Type: ${mimeType}\r\n`);
  return {
    body: Buffer.concat([
      Buffer.from(`${fields.join('')}${head}`),
      file,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
    contentType: `multipart/form-data; boundary=${boundary}`,
    digest: hashOf(JSON.stringify(input), fileName, file),
  };
}

/**
 * Returns the idempotency key of the call for an item. When n8n retries the node, the execution, the run and the item are the
 * same, so that an item whose call had a result gets that result again and is charged once.
 */
function keyOf(context: IExecuteFunctions, operation: string, item: number, digest: string): string {
  const execution = context.getExecutionId();
  if (!execution) return randomUUID();
  const run: unknown = context.getWorkflowDataProxy(item).$runIndex;
  const place = [
    context.getInstanceId(),
    context.getWorkflow().id,
    execution,
    context.getNode().id,
    run,
    item,
  ];
  return `n8n-${hashOf(JSON.stringify([...place, operation]), digest)}`;
}

/** The error of a response that is no result: an RFC 9457 problem, or the page of a proxy. */
function failureOf(context: IExecuteFunctions, item: number, status: number, body: unknown): NodeApiError {
  const problem = isRecord(body) ? body : {};
  const { title, detail, code, requestId, errors } = problem;
  const faults: unknown[] = Array.isArray(errors) ? errors : [];
  const lines = [
    String(detail ?? 'The service did not answer with a result.'),
    ...faults.map((it) => (isRecord(it) ? `${it.pointer || '(input)'} ${it.message}` : '')),
    ...(code === undefined ? [] : [`Code ${code}, request ${requestId}`]),
  ];
  const error = new NodeApiError(
    context.getNode(),
    { message: lines.join('\n') },
    {
      message: title === undefined ? `HTTP status ${status}` : String(title),
      description: lines.join('\n'),
      httpCode: String(status),
      itemIndex: item,
    },
  );
  error.context.data = problem;
  return error;
}

/** Turns the file in an output into binary data of the item. */
async function itemOf(
  context: IExecuteFunctions,
  operation: string,
  { file }: ToolCall,
  options: IDataObject,
  output: IDataObject,
): Promise<INodeExecutionData> {
  const data = file === undefined ? undefined : output[file.data];
  // A file that is returned as a link is null.
  if (file === undefined || typeof data !== 'string') return { json: output };
  const json = { ...output };
  delete json[file.data];
  const type = String(output[file.mimeType]);
  const name =
    file.fileName === null ? `${operation}.${type.split('/')[1] ?? 'bin'}` : String(output[file.fileName]);
  const binary = await context.helpers.prepareBinaryData(Buffer.from(data, 'base64'), name, type);
  return { json, binary: { [String(options.outputBinaryPropertyName ?? 'data')]: binary } };
}

/** Calls the tool that is selected for an item. @throws NodeApiError with the code of the service's error in `context.data` */
export async function callTool(context: IExecuteFunctions, item: number): Promise<INodeExecutionData> {
  const operation = String(context.getNodeParameter('operation', item));
  const tool = TOOLS[operation];
  if (tool === undefined)
    throw new NodeOperationError(context.getNode(), `There is no tool ${operation}`, { itemIndex: item });
  const given: unknown = context.getNodeParameter('additionalOptions', item, {});
  const options = isRecord(given) ? given : {};
  const input: Record<string, unknown> = inputOf(context, tool, options, item);
  const isForm = tool.takesFile && context.getNodeParameter('fileFrom', item) === 'item';
  if (tool.takesFile && !isForm) input.fileUrl = context.getNodeParameter('fileUrl', item);
  const { body, contentType, digest } = isForm ? await formBody(context, input, item) : jsonBody(input);
  const { baseUrl } = await context.getCredentials<{ baseUrl: string }>(CREDENTIALS, item);
  const request: IHttpRequestOptions = {
    method: 'POST',
    url: `${baseUrl.replace(/\/+$/, '')}/api/v1/tools/${operation}`,
    headers: {
      Accept: 'application/json',
      'Content-Type': contentType,
      // The service keeps no results of calls with secrets, and would refuse the second attempt.
      ...(!tool.hasSecrets && { 'Idempotency-Key': keyOf(context, operation, item, digest) }),
    },
    body,
    timeout: TIMEOUT_MS,
    returnFullResponse: true,
    ignoreHttpStatusErrors: true,
  };
  const response: { statusCode: number; body: unknown } =
    await context.helpers.httpRequestWithAuthentication.call(context, CREDENTIALS, request);
  if (response.statusCode !== 200 || !isRecord(response.body))
    throw failureOf(context, item, response.statusCode, response.body);
  return itemOf(context, operation, tool, options, response.body);
}
