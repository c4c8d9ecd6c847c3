import { ToolMethods } from './generated/tools.ts';
import type { CallOptions, ClientOptions } from './options.ts';
import {
  type Credits,
  type FileFields,
  type FileResult,
  fileOf,
  type Result,
  type ToolInfo,
} from './result.ts';
import { createTransport, type Success, type Transport } from './transport.ts';

const numberOf = (headers: Headers, name: string): number | null => {
  const text = headers.get(name);
  return text === null || text === '' ? null : Number(text);
};

/**
 * Credits of the call. The service reports 0 for a replay; a replay under the client's own key is the result of an earlier
 * attempt of the same call, which was charged.
 */
function creditsOf(headers: Headers, isOwnReplay: boolean): Credits {
  const cost = numberOf(headers, 'X-Credits-Cost') ?? 0;
  const charged = isOwnReplay ? cost : (numberOf(headers, 'X-Credits-Charged') ?? cost);
  return { cost, charged, left: numberOf(headers, 'X-Credits-Remaining') };
}

function headersOf({ maxCredits }: CallOptions, idempotencyKey: string | null): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    ...(idempotencyKey === null ? {} : { 'Idempotency-Key': idempotencyKey }),
    ...(maxCredits === undefined ? {} : { 'X-Max-Credits': String(maxCredits) }),
  };
}

/** Client of the tools. Its methods throw `ApiError`, `ConnectionError`, `TimeoutError` and `AbortedError`. */
export class UtilityTools extends ToolMethods {
  readonly #send: Transport;

  /** @throws TypeError if the key is missing or the URL is not valid */
  constructor(options: ClientOptions) {
    super();
    this.#send = createTransport(options);
  }

  protected override async run<T extends object>(
    tool: ToolInfo,
    input: object,
    options: CallOptions = {},
  ): Promise<Result<T>> {
    const ownKey = options.idempotencyKey === undefined;
    const idempotencyKey =
      options.idempotencyKey === undefined ? crypto.randomUUID() : options.idempotencyKey;
    const success = await this.#send(
      {
        method: 'POST',
        path: `/api/v1/tools/${tool.name}`,
        headers: headersOf(options, idempotencyKey),
        body: JSON.stringify(input),
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

function resultOf<T>({ headers, body }: Success, idempotencyKey: string | null, ownKey: boolean): Result<T> {
  const replayed = headers.get('Idempotent-Replayed') === 'true';
  // The service guarantees the schema of a success.
  const output: T = JSON.parse(body);
  return {
    output,
    credits: creditsOf(headers, replayed && ownKey),
    requestId: headers.get('X-Request-Id') ?? '',
    idempotencyKey,
    replayed,
  };
}
