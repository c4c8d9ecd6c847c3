import { Batches } from './batches.ts';
import { createDownload } from './download.ts';
import { Files, type NamedFile } from './files.ts';
import { ToolMethods } from './generated/tools.ts';
import { Jobs } from './jobs.ts';
import { createLines } from './lines.ts';
import type { CallOptions, ClientOptions } from './options.ts';
import { type FileFields, type FileResult, fileOf, type Result, resultOf, type ToolInfo } from './result.ts';
import { Schedules } from './schedules.ts';
import { connectionOf, createTransport, type Transport } from './transport.ts';

const KEY_VARIABLE = 'UTILITY_TOOLS_API_KEY';

function headersOf({ maxCredits }: CallOptions, idempotencyKey: string | null): Record<string, string> {
  return {
    ...(idempotencyKey === null ? {} : { 'Idempotency-Key': idempotencyKey }),
    ...(maxCredits === undefined ? {} : { 'X-Max-Credits': String(maxCredits) }),
  };
}

/** A call as a form: the file, and the fields of the input as texts. */
function formOf(input: object, { content, name: fileName }: NamedFile): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(input))
    if (value !== undefined) form.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  form.append('file', content, fileName);
  return form;
}

/** Client of the tools. Its methods throw `ApiError`, `ConnectionError`, `TimeoutError` and `AbortedError`. */
export class UtilityTools extends ToolMethods {
  readonly #send: Transport;
  /** Calls that run later and whose results wait for you. */
  readonly jobs: Jobs;
  /** Many calls in one request. */
  readonly batches: Batches;
  /** Files that tools read instead of a URL. */
  readonly files: Files;
  /** Jobs and batches that repeat. */
  readonly schedules: Schedules;

  /** @throws TypeError if the key is missing or the URL is not valid */
  constructor(options: ClientOptions = {}) {
    super();
    this.#send = createTransport(options, KEY_VARIABLE);
    this.jobs = new Jobs(this.#send);
    const connection = connectionOf(options, KEY_VARIABLE);
    this.batches = new Batches(this.#send, createLines(connection));
    this.files = new Files(this.#send, createDownload(connection));
    this.schedules = new Schedules(this.#send);
  }

  protected override async run<T extends object>(
    tool: ToolInfo,
    input: object,
    options: CallOptions = {},
    file?: NamedFile,
  ): Promise<Result<T>> {
    const ownKey = options.idempotencyKey === undefined;
    const idempotencyKey =
      options.idempotencyKey === undefined ? crypto.randomUUID() : options.idempotencyKey;
    const success = await this.#send(
      {
        method: 'POST',
        path: `/api/v1/tools/${tool.name}`,
        headers: {
          ...headersOf(options, idempotencyKey),
          // `fetch` adds the type of a form, with its boundary.
          ...(file === undefined && { 'Content-Type': 'application/json' }),
        },
        body: file === undefined ? JSON.stringify(input) : formOf(input, file),
        isTool: true,
        idempotencyKey,
        always: idempotencyKey !== null,
        keyIsFreed: tool.hasSecrets && ownKey,
      },
      options,
    );
    return resultOf<T>(success, idempotencyKey, ownKey);
  }

  protected override async runForFile<T extends object>(
    tool: ToolInfo,
    fields: FileFields,
    input: object,
    options?: CallOptions,
  ): Promise<FileResult<T>> {
    const result = await this.run<T>(tool, input, options);
    return { ...result, file: fileOf(tool, fields, result.output) };
  }
}
