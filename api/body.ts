import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../schemas/errors.ts';

const MEDIA_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;
/** A body that trickles in slower than this whole is not waited for. */
const BODY_TIMEOUT_MS = 30_000;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

async function readAll(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const timeout = setTimeout(() => request.destroy(), BODY_TIMEOUT_MS);
  try {
    for await (const chunk of request) {
      if (!Buffer.isBuffer(chunk)) throw new TypeError('the request stream gave no bytes');
      size += chunk.length;
      if (size > limit)
        throw new ServiceError('body_too_large', { detail: `At most ${limit} bytes are taken.` });
      chunks.push(chunk);
    }
  } catch (error) {
    // The caller hung up: nobody reads the answer, and it is no fault of ours.
    if (request.destroyed && !(error instanceof ServiceError))
      throw new ServiceError('malformed_json', { cause: error });
    throw error;
  } finally {
    clearTimeout(timeout);
  }
  return Buffer.concat(chunks);
}

/**
 * The request's JSON object.
 *
 * @param limit bytes
 * @throws ServiceError unsupported_media_type, body_too_large, malformed_json
 */
export async function readJson(request: IncomingMessage, limit: number): Promise<Record<string, unknown>> {
  const { headers } = request;
  if (
    !MEDIA_TYPE.test(headers['content-type'] ?? '') ||
    (headers['content-encoding'] ?? 'identity') !== 'identity'
  )
    throw new ServiceError('unsupported_media_type');
  if (Number(headers['content-length'] ?? 0) > limit)
    throw new ServiceError('body_too_large', { detail: `At most ${limit} bytes are taken.` });
  const bytes = await readAll(request, limit);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw new ServiceError('malformed_json', { cause: error });
  }
  if (!isObject(value)) throw new ServiceError('malformed_json');
  return value;
}
