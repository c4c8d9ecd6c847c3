import {
  type ClientRequest,
  type IncomingMessage,
  request as startRequest,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import type { Socket } from 'node:net';
import { invalidInput } from '../schemas/errors.ts';
import type { Limits } from './clock.ts';
import { readSocketError, targetFailed } from './failure.ts';
import { HEADER_BYTES, INTERIM_RESPONSES } from './limits.ts';
import type { Header, Overflow } from './response.ts';
import type { WebParts } from './target.ts';

export interface RequestOptions extends Limits {
  /** Default GET. */
  method?: string;
  /** Sent in this order; names may repeat. */
  headers?: readonly Header[];
  body?: Buffer | string | null;
  /** Size limit of the decoded body, in bytes. */
  maxBytes: number;
  /** Default source_too_large. */
  overflow?: Overflow;
  /** How to treat an invalid certificate. Default `enforce`. */
  verify?: 'enforce' | 'report';
}

const DEFAULT_HEADERS: readonly Header[] = [
  ['User-Agent', 'Mozilla/5.0 (compatible; utility-tools-api)'],
  ['Accept', '*/*'],
  ['Accept-Encoding', 'gzip, deflate, br, zstd'],
];
/** Fields of the connection, which the client sets itself: it carries one request of known length. */
const OURS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Methods whose requests send Content-Length: 0 without a body (RFC 9110 section 8.6). */
const WITH_CONTENT: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * The header section of a request, as one flat list.
 *
 * @throws ServiceError `invalid_input` for a header that is not valid HTTP or that belongs to the connection
 */
export function writeHeaders(
  url: WebParts,
  { method = 'GET', headers = [], body }: RequestOptions,
): string[] {
  for (const [name, value] of headers) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      throw invalidInput([{ pointer: '/headers', message: `holds a header that cannot be sent: ${name}` }]);
    }
    if (OURS.has(name.toLowerCase()))
      throw invalidInput([{ pointer: '/headers', message: `must not hold ${name}` }]);
  }
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  const length = body === undefined || body === null ? 0 : Buffer.byteLength(body);
  const all: Header[] = [
    ...(given.has('host') ? [] : [['Host', url.host] as const]),
    ...DEFAULT_HEADERS.filter(([name]) => !given.has(name.toLowerCase())),
    ...headers,
    ...(length > 0 || WITH_CONTENT.has(method) ? [['Content-Length', `${length}`] as const] : []),
    ['Connection', 'close'],
  ];
  return all.flat();
}

/**
 * Waits for the headers of the final response to a request. Its connection ends with every failure.
 *
 * @throws ServiceError `target_failed` for a status below 100, another protocol or too many interim responses; what the
 *   request fails with
 */
export function nextResponse(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let interim = 0;
    request.on('response', (message) => {
      // What breaks later is told to whoever reads the body.
      message.on('error', () => undefined);
      const { statusCode = 0 } = message;
      // RFC 9110 section 15: there are 100 to 599; Node's parser takes any three digits.
      if (statusCode >= 100) return resolve(message);
      message.destroy();
      reject(targetFailed('protocol'));
    });
    request.on('information', () => {
      interim += 1;
      if (interim > INTERIM_RESPONSES)
        request.destroy(targetFailed('protocol', { detail: 'The target sent too many interim responses.' }));
    });
    request.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(targetFailed('protocol', { detail: 'The target switched to another protocol.' }));
    });
    request.on('error', reject);
  });
}

/**
 * Sends one request over its own connection and waits for the headers of the final response.
 *
 * It uses Node's client with the lenient parser, which accepts folded lines, bare line feeds and both lengths at once, as
 * curl and browsers do. The strict parser guards against request smuggling on shared connections, which cannot happen on
 * a connection for one request. undici fails on an unsolicited 100 (Continue), which RFC 9110 forbids.
 *
 * @throws ServiceError `target_failed`
 */
export async function exchange(
  socket: Socket,
  url: WebParts,
  headers: readonly string[],
  { method = 'GET', body }: RequestOptions,
): Promise<IncomingMessage> {
  const request = startRequest({
    createConnection: () => socket,
    method,
    path: url.path,
    headers: [...headers],
    maxHeaderSize: HEADER_BYTES,
    insecureHTTPParser: true,
  });
  const response = nextResponse(request);
  request.end(body ?? undefined);
  try {
    return await response;
  } catch (error) {
    socket.destroy();
    throw readSocketError(error);
  }
}
