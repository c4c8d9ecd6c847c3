import type { Success } from './transport.ts';

/** The properties of a tool that the client needs. */
export interface ToolInfo {
  name: string;
  /** True if the input has secret fields. The service does not store such calls, so they cannot be replayed. */
  hasSecrets: boolean;
}

/** The output fields that form a file. */
export interface FileFields {
  data: string;
  mimeType: string;
  fileName?: string;
}

export interface Credits {
  /** Price of the call. */
  cost: number;
  /** Credits charged for this call, over all its attempts. */
  charged: number;
  /** Credits available for further calls; null if the response does not include them. */
  left: number | null;
}

/** The result of a tool call. */
export interface Result<T> {
  /** The output fields of the tool. */
  output: T;
  credits: Credits;
  /** The dashboard and the log of the service find the call by it. */
  requestId: string;
  /** Repeating the call with this key within 24 hours returns the same result at no cost. Null if none was sent. */
  idempotencyKey: string | null;
  /** True if the result is that of an earlier attempt or call with the same key. */
  replayed: boolean;
  /** The earlier call whose result this is, because of `maxAge`, at no cost; null if the tool ran for this call. */
  reused: ReusedResult | null;
}

/** The earlier call that gave a result. */
export interface ReusedResult {
  callId: string;
  ageSeconds: number;
}

/** The result of a tool that creates a file. */
export interface FileResult<T> extends Result<T> {
  file: ToolFile;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'application/pdf': 'pdf',
};

/** A file that a tool created. */
export class ToolFile {
  readonly mimeType: string;
  readonly name: string;
  readonly #base64: string | null;

  constructor(base64: string | null, mimeType: string, name: string) {
    this.#base64 = base64;
    this.mimeType = mimeType;
    this.name = name;
  }

  /** Decodes the content. @throws if the call asked for the address of the file instead */
  bytes(): Uint8Array<ArrayBuffer> {
    if (this.#base64 === null)
      throw new Error('The file is not in the result. Download it from output.fileUrl.');
    const text = atob(this.#base64);
    const bytes = new Uint8Array(text.length);
    for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
    return bytes;
  }

  /** The content for a browser, for example for `URL.createObjectURL`. */
  blob(): Blob {
    return new Blob([this.bytes()], { type: this.mimeType });
  }
}

/** The file in an output. */
export function fileOf(tool: ToolInfo, fields: FileFields, output: object): ToolFile {
  const values = new Map<string, unknown>(Object.entries(output));
  const mimeType = String(values.get(fields.mimeType));
  const named = fields.fileName === undefined ? undefined : values.get(fields.fileName);
  const name = typeof named === 'string' ? named : `${tool.name}.${EXTENSIONS[mimeType] ?? 'bin'}`;
  const data = values.get(fields.data);
  return new ToolFile(typeof data === 'string' ? data : null, mimeType, name);
}

/** The number in a header; null if a proxy has removed or changed it. */
const numberOf = (headers: Headers, name: string): number | null => {
  const text = headers.get(name) ?? '';
  return /^-?\d{1,18}$/.test(text) ? Number(text) : null;
};

function reusedOf(headers: Headers): ReusedResult | null {
  const callId = headers.get('X-Result-From');
  return callId === null ? null : { callId, ageSeconds: numberOf(headers, 'Age') ?? 0 };
}

/**
 * Credits of the call. The service reports 0 for a replay; a replay under the client's own key is the result of an earlier
 * attempt of the same call, which was charged.
 */
function creditsOf(headers: Headers, isOwnReplay: boolean): Credits {
  const cost = numberOf(headers, 'X-Credits-Cost') ?? 0;
  const charged = isOwnReplay ? cost : (numberOf(headers, 'X-Credits-Charged') ?? cost);
  return { cost, charged, left: numberOf(headers, 'X-Credits-Remaining') };
}

/**
 * Reads the result of a successful response.
 *
 * @param ownKey true if the client has generated the idempotency key
 */
export function resultOf<T>(
  { headers, body }: Success,
  idempotencyKey: string | null,
  ownKey: boolean,
): Result<T> {
  const replayed = headers.get('Idempotent-Replayed') === 'true';
  const reused = reusedOf(headers);
  // The service guarantees the schema of a success.
  const output: T = JSON.parse(body);
  return {
    output,
    credits: creditsOf(headers, replayed && ownKey && reused === null),
    requestId: headers.get('X-Request-Id') ?? '',
    idempotencyKey,
    replayed,
    reused,
  };
}
