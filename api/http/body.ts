import type { IncomingMessage, ServerResponse } from 'node:http';
import { invalidInput, ServiceError } from '../../schemas/errors.ts';
import { parseFields } from './formFields.ts';
import { createHeldBytes } from './heldBytes.ts';
import { exceededBound, startsObject } from './jsonBounds.ts';

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
/** A body that is not complete by then ends its connection. */
const BODY_TIMEOUT_MS = 30_000;
/** Memory for all bodies that are being received. */
const BODIES_BYTES = 128 * 1024 * 1024;
/**
 * The pieces a body may come in: this many, and one more for each 256 bytes. Node handles each HTTP chunk by itself,
 * which takes seconds for a megabyte of one-byte chunks.
 */
const PIECES = 1000;
const PIECE_BYTES = 256;
/** The fields of a form; the largest form of the dashboard has about 40. */
const FORM_FIELDS = 1000;
/** How long a refused body is still received, so that a client that sends first and reads then gets the answer. */
const LEFTOVER_MS = 10_000;

const bodies = createHeldBytes(BODIES_BYTES);

const mayHavePieces = (bytes: number): number => PIECES + bytes / PIECE_BYTES;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The charset that a parameter of a media type names, or null for another parameter. */
function charsetOf(parameter: string): string | null {
  const [name = '', value = ''] = parameter.split('=', 2).map((part) => part.trim());
  return name === 'charset' ? value.replaceAll('"', '') : null;
}

/** Whether the body is of that type, in UTF-8, without a content coding. Other parameters are ignored (RFC 8259, section 11). */
function isOfType({ headers }: IncomingMessage, type: string): boolean {
  const { 'content-type': sent = '', 'content-encoding': coding = 'identity' } = headers;
  const [essence, ...parameters] = sent.split(';').map((part) => part.trim().toLowerCase());
  return (
    essence === type &&
    parameters.every((it) => /^utf-?8$/.test(charsetOf(it) ?? 'utf-8')) &&
    coding.toLowerCase() === 'identity'
  );
}

/**
 * The bytes of the body.
 *
 * @param limit bytes
 * @throws ServiceError body_too_large; malformed_json when the body is broken off or comes in too many small pieces
 */
export async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = new ServiceError('body_too_large', { detail: `At most ${limit} bytes are taken.` });
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge;
  const chunks: Buffer[] = [];
  let size = 0;
  const timeout = setTimeout(() => request.destroy(), BODY_TIMEOUT_MS);
  using share = bodies.open(() => request.destroy());
  try {
    // A refused body is still received for a while (`endLeftover`): a client that is sending would otherwise see a broken
    // connection instead of the answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      if (!Buffer.isBuffer(chunk)) throw new TypeError('the request stream gave no bytes');
      size += chunk.length;
      share.add(chunk.length);
      if (size > limit) throw tooLarge;
      chunks.push(chunk);
      if (chunks.length > mayHavePieces(size))
        throw new ServiceError('malformed_json', { detail: 'The body comes in too many small pieces.' });
    }
  } catch (error) {
    // The caller hung up or was too slow, which is no fault of this service.
    if (request.destroyed && !(error instanceof ServiceError))
      throw new ServiceError('malformed_json', { cause: error });
    throw error;
  } finally {
    clearTimeout(timeout);
  }
  return Buffer.concat(chunks);
}

/**
 * Receives what is left of a body that is no longer needed, so that a client which sends first and reads then gets the
 * answer. Ends the connection when that takes long, or when the body comes in very many small pieces.
 *
 * @param response the answer, about to be sent
 * @param leftoverMs for tests
 */
export function endLeftover(
  request: IncomingMessage,
  response: ServerResponse,
  leftoverMs = LEFTOVER_MS,
): void {
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
    if (++pieces > mayHavePieces(size)) {
      request.pause();
      end();
    }
  });
  response.once('finish', () => {
    if (!request.complete) timeout = setTimeout(end, leftoverMs);
  });
  for (const event of ['end', 'close']) request.once(event, () => clearTimeout(timeout));
}

/**
 * The request's JSON object, whose depth and number of values are bounded so that parsing and validating it takes
 * milliseconds.
 *
 * @param limit bytes
 * @throws ServiceError unsupported_media_type, body_too_large, malformed_json, invalid_input
 */
export async function readJson(request: IncomingMessage, limit: number): Promise<Record<string, unknown>> {
  if (!isOfType(request, JSON_TYPE)) throw new ServiceError('unsupported_media_type');
  const bytes = await readBytes(request, limit);
  if (!startsObject(bytes)) throw new ServiceError('malformed_json');
  const exceeded = exceededBound(bytes);
  if (exceeded !== null) throw invalidInput([exceeded]);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ServiceError('malformed_json', { cause: error });
  }
  if (!isObject(value)) throw new ServiceError('malformed_json');
  return value;
}

/**
 * The fields of a form that a browser sent.
 *
 * @param limit bytes
 * @throws ServiceError unsupported_media_type, body_too_large, invalid_input
 */
export async function readForm(request: IncomingMessage, limit: number): Promise<URLSearchParams> {
  if (!isOfType(request, FORM_TYPE))
    throw new ServiceError('unsupported_media_type', {
      detail: 'Send the form as application/x-www-form-urlencoded, in UTF-8.',
    });
  const fields = await parseFields(await readBytes(request, limit), FORM_FIELDS);
  if (fields === null)
    throw invalidInput([{ pointer: '', message: `must not have more than ${FORM_FIELDS} fields` }]);
  return fields;
}
