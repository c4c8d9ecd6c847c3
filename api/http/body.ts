import type { IncomingMessage, ServerResponse } from 'node:http';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { isRecord } from '../../schemas/isRecord.ts';
import { parseFields } from './formFields.ts';
import { createHeldBytes, holderOf, type Sender } from './heldBytes.ts';
import { exceededBound, startsObject } from './jsonBounds.ts';

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
/**
 * Maximum time in milliseconds to receive a body that is kept, and one that is used up as it arrives: that of the HTTP server for a
 * request. After that the connection is closed.
 */
const RECEIVE_MS = { kept: 30_000, usedUp: 60_000 };
/**
 * Maximum memory in bytes for all bodies that are being received. Above it, the address or account that holds most loses
 * connections.
 */
const BODIES_BYTES = 96 * 1024 * 1024;
/**
 * A body may arrive in `PIECES` pieces plus one for each `PIECE_BYTES`. Node.js handles each HTTP chunk separately,
 * which takes seconds for a megabyte of one-byte chunks.
 */
const PIECES = 1000;
const PIECE_BYTES = 256;
/** Maximum number of fields of a form; the largest form of the dashboard has about 40. */
const FORM_FIELDS = 1000;
/**
 * How long the rest of a refused body is received and discarded. Clients that read the response only after they have
 * sent the whole request then get it.
 */
const DRAIN_MS = 10_000;

/** The memory of bodies that are being received. */
export const receivedBytes = createHeldBytes(BODIES_BYTES);

const maxPieces = (bytes: number): number => PIECES + bytes / PIECE_BYTES;

/** Returns the value of a `charset` parameter; null for any other parameter. */
function charsetOf(parameter: string): string | null {
  const [name = '', value = ''] = parameter.split('=', 2).map((part) => part.trim());
  return name === 'charset' ? value.replaceAll('"', '') : null;
}

/**
 * Whether the body has this media type, is in UTF-8 and has no content coding. Parameters other than `charset` are
 * ignored (RFC 8259, section 11).
 */
export function isOfType({ headers }: IncomingMessage, type: string): boolean {
  const { 'content-type': sent = '', 'content-encoding': coding = 'identity' } = headers;
  const [essence, ...parameters] = sent.split(';').map((part) => part.trim().toLowerCase());
  return (
    essence === type &&
    parameters.every((it) => /^utf-?8$/.test(charsetOf(it) ?? 'utf-8')) &&
    coding.toLowerCase() === 'identity'
  );
}

/** A request whose body is read, and its client. */
interface Received extends Sender {
  req: IncomingMessage;
}

/**
 * Yields the chunks of a body as they arrive.
 *
 * @param limit maximum size in bytes
 * @param isKept whether the caller keeps the chunks until the end. Default: each is used up when the next one is requested
 * @throws ServiceError body_too_large; malformed_json if the body is incomplete or arrives in too many small pieces
 */
export async function* receiveBody(ctx: Received, limit: number, isKept = false): AsyncGenerator<Buffer> {
  const request = ctx.req;
  const tooLarge = new ServiceError('body_too_large', {
    detail: `The body must have at most ${limit} bytes.`,
  });
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge;
  let size = 0;
  let pieces = 0;
  const timeout = setTimeout(() => request.destroy(), isKept ? RECEIVE_MS.kept : RECEIVE_MS.usedUp);
  using share = receivedBytes.open(holderOf(ctx), () => request.destroy());
  try {
    // A refusal must not destroy the connection: a client that is still sending would see a broken connection instead
    // of the response. `drainRequest` receives the rest.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      if (!Buffer.isBuffer(chunk))
        throw new TypeError('the request stream returned a chunk that is not a Buffer');
      size += chunk.length;
      share.add(chunk.length);
      if (size > limit) throw tooLarge;
      if (++pieces > maxPieces(size))
        throw new ServiceError('malformed_json', { detail: 'The body arrives in too many small pieces.' });
      yield chunk;
      if (!isKept) share.add(-chunk.length);
    }
  } catch (error) {
    // The caller disconnected or was too slow; this is not an internal error.
    if (request.destroyed && !(error instanceof ServiceError))
      throw new ServiceError('malformed_json', { cause: error });
    throw error;
  } finally {
    clearTimeout(timeout);
  }
}

/** Reads the body of a request; see `receiveBody`. @param limit maximum size in bytes */
export async function readBytes(ctx: Received, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of receiveBody(ctx, limit, true)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/**
 * Receives and discards the rest of a body that is not needed, so that a client that reads only after sending gets
 * the response. Closes the connection if this takes too long or the body arrives in too many small pieces.
 *
 * @param response the response, about to be sent
 * @param drainMs how long to receive the rest, in milliseconds; set by tests
 */
export function drainRequest(request: IncomingMessage, response: ServerResponse, drainMs = DRAIN_MS): void {
  if (request.complete || request.destroyed) return;
  let pieces = 0;
  let size = 0;
  let timeout: NodeJS.Timeout | undefined;
  const end = () => {
    if (response.writableFinished) request.destroy();
    else response.once('finish', () => request.destroy());
  };
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (++pieces > maxPieces(size)) {
      request.pause();
      end();
    }
  });
  response.once('finish', () => {
    if (!request.complete) timeout = setTimeout(end, drainMs);
  });
  for (const event of ['end', 'close']) request.once(event, () => clearTimeout(timeout));
}

/**
 * Reads the body of a request as a JSON object. The nesting depth and the number of values are bounded, so that
 * parsing and validation take only milliseconds.
 *
 * @param limit maximum size in bytes
 * @throws ServiceError unsupported_media_type, body_too_large, malformed_json, invalid_input
 */
export async function readJson(ctx: Received, limit: number): Promise<Record<string, unknown>> {
  if (!isOfType(ctx.req, JSON_TYPE)) throw new ServiceError('unsupported_media_type');
  const bytes = await readBytes(ctx, limit);
  if (!startsObject(bytes)) throw new ServiceError('malformed_json');
  const exceeded = exceededBound(bytes);
  if (exceeded !== null) throw invalidInput([exceeded]);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ServiceError('malformed_json', { cause: error });
  }
  if (!isRecord(value)) throw new ServiceError('malformed_json');
  return value;
}

/**
 * Reads the fields of a submitted HTML form.
 *
 * @param limit maximum size of the body in bytes
 * @throws ServiceError unsupported_media_type, body_too_large, invalid_input
 */
export async function readForm(ctx: Received, limit: number): Promise<URLSearchParams> {
  if (!isOfType(ctx.req, FORM_TYPE))
    throw new ServiceError('unsupported_media_type', {
      detail: 'The form must be sent as application/x-www-form-urlencoded in UTF-8.',
    });
  const fields = await parseFields(await readBytes(ctx, limit), FORM_FIELDS);
  if (fields === null)
    throw invalidInput([{ pointer: '', message: `must not have more than ${FORM_FIELDS} fields` }]);
  return fields;
}
