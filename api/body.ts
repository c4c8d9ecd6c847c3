import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../schemas/errors.ts';

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
const CHARSET = /^charset\s*=\s*"?([^"]*)"?$/;
/** A body that trickles in slower than this whole is not waited for. */
const BODY_TIMEOUT_MS = 30_000;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Of that type, in UTF-8 and without a coding; other parameters say nothing of either (RFC 8259 section 11). */
function isOfType({ headers }: IncomingMessage, type: string): boolean {
  const { 'content-type': sent = '', 'content-encoding': coding = 'identity' } = headers;
  const [essence, ...parameters] = sent.split(';').map((part) => part.trim().toLowerCase());
  const charsets = parameters.map((parameter) => CHARSET.exec(parameter)?.[1] ?? 'utf-8');
  return (
    essence === type && charsets.every((it) => /^utf-?8$/.test(it)) && coding.toLowerCase() === 'identity'
  );
}

/**
 * The body as it came.
 *
 * @param limit bytes
 * @throws ServiceError body_too_large
 */
export async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = new ServiceError('body_too_large', { detail: `At most ${limit} bytes are taken.` });
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge;
  const chunks: Buffer[] = [];
  let size = 0;
  const timeout = setTimeout(() => request.destroy(), BODY_TIMEOUT_MS);
  try {
    // What is left of a body that was refused is not cut off but read and thrown away (by Node, when the answer is out,
    // until the request's time is over): a client that is still sending would see a broken connection and no answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      if (!Buffer.isBuffer(chunk)) throw new TypeError('the request stream gave no bytes');
      size += chunk.length;
      if (size > limit) throw tooLarge;
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
  if (!isOfType(request, JSON_TYPE)) throw new ServiceError('unsupported_media_type');
  const bytes = await readBytes(request, limit);
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
 * @throws ServiceError unsupported_media_type, body_too_large
 */
export async function readForm(request: IncomingMessage, limit: number): Promise<URLSearchParams> {
  if (!isOfType(request, FORM_TYPE))
    throw new ServiceError('unsupported_media_type', {
      detail: 'Send the form as application/x-www-form-urlencoded, in UTF-8.',
    });
  return new URLSearchParams((await readBytes(request, limit)).toString());
}
