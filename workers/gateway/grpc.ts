import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

const unzip = promisify(gunzip);

/** gRPC status codes (google.golang.org/grpc/codes). */
export const STATUS = { invalid: 3, denied: 7, unavailable: 14 } as const;

/** Ends a request with a gRPC status. The message reaches the worker's log. */
export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly status: number;
  constructor(status: number, message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.status = status;
  }
}

/** Bytes in front of a message: a flag for compression and the length. */
const PREFIX_BYTES = 5;
/** Maximum size of a message in bytes. Temporal's own limit is 4 MB. */
const MESSAGE_BYTES = 4 * 1024 * 1024;

/** Encodes one message as the body of a unary request or response. */
export function frame(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Reads a body to its end. @throws GrpcError when it is too large */
export async function readBody(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > MESSAGE_BYTES + PREFIX_BYTES) throw new GrpcError(STATUS.invalid, 'the message is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Decodes the one message of a body. @throws GrpcError when the body is not exactly one message */
export async function unframe(body: Buffer, encoding: string | undefined): Promise<Buffer> {
  const message = body.subarray(PREFIX_BYTES);
  if (body.length < PREFIX_BYTES || body.readUInt32BE(1) !== message.length)
    throw new GrpcError(STATUS.invalid, 'the body is not one message');
  if (body[0] === 0) return message;
  if (encoding !== 'gzip')
    throw new GrpcError(STATUS.invalid, 'the encoding of the message is not supported');
  try {
    return await unzip(message, { maxOutputLength: MESSAGE_BYTES });
  } catch (error) {
    throw new GrpcError(STATUS.invalid, 'the message cannot be decompressed', { cause: error });
  }
}

/** The headers that carry the result of a gRPC request, without those of HTTP. */
export const grpcHeaders = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('grpc-')));

/** Answers a request without a message. */
export function sendStatus(stream: ServerHttp2Stream, status: number, message: string): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc',
      'grpc-status': String(status),
      'grpc-message': encodeURIComponent(message),
    },
    { endStream: true },
  );
}

/** Answers a request with a message. */
export function sendMessage(
  stream: ServerHttp2Stream,
  message: Uint8Array,
  trailers: IncomingHttpHeaders,
): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.once('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end(frame(message));
}
