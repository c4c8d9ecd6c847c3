import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { invalidInput } from '../schemas/errors.ts';
import type { ResponseWarning } from '../schemas/formats/responseWarnings.ts';
import type { Limits } from './clock.ts';
import { targetFailed } from './failure.ts';
import { type Message, type Observed, REFUSALS, readBody, readFraming } from './http1/body.ts';
import { type Head, type Header, readHead, type Warn } from './http1/head.ts';
import { createReader, type Reader } from './http1/reader.ts';
import { INTERIM_RESPONSES } from './limits.ts';
import type { Overflow } from './response.ts';
import type { WebParts } from './target.ts';

export interface RequestOptions extends Limits {
  /** The HTTP method. Default `GET`. */
  method?: string;
  /** Headers, sent in this order; names may repeat. */
  headers?: readonly Header[];
  body?: Buffer | string | null;
  /** Size limit of the decoded body, in bytes. */
  maxBytes: number;
  /** How to treat a body above `maxBytes`. Default `source_too_large`. */
  overflow?: Overflow;
  /** How to treat an invalid certificate. Default `enforce`. */
  verify?: 'enforce' | 'report';
}

/**
 * The headers to send unless given. A range is requested of the unencoded representation, as browsers do (Fetch Standard,
 * HTTP-network-or-cache fetch): a part of encoded bytes could not be decoded.
 */
const defaultHeaders = (given: ReadonlySet<string>): Header[] => [
  ['User-Agent', 'Mozilla/5.0 (compatible; utility-tools-api)'],
  ['Accept', '*/*'],
  ['Accept-Encoding', given.has('range') ? 'identity' : 'gzip, deflate, br, zstd'],
];
/** Connection-specific headers and Content-Length, which this client sets itself and callers must not set. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Methods whose requests carry `Content-Length: 0` when they have no body (RFC 9110 section 8.6). */
const WITH_CONTENT: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/**
 * Returns the header section of a request as one flat list: name, value, name, value, …
 *
 * @throws ServiceError `invalid_input` for a header that is not valid HTTP, is connection-specific or is Content-Length
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
      throw invalidInput([
        { pointer: '/headers', message: `contains a header that is not valid HTTP: ${name}` },
      ]);
    }
    if (OWN_HEADERS.has(name.toLowerCase()))
      throw invalidInput([
        { pointer: '/headers', message: `must not contain ${name}, which the service sets itself` },
      ]);
  }
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  const length = body === undefined || body === null ? 0 : Buffer.byteLength(body);
  const all: Header[] = [
    ...(given.has('host') ? [] : [['Host', url.host] as const]),
    ...defaultHeaders(given).filter(([name]) => !given.has(name.toLowerCase())),
    ...headers,
    ...(length > 0 || WITH_CONTENT.has(method) ? [['Content-Length', `${length}`] as const] : []),
    ['Connection', 'close'],
  ];
  return all.flat();
}

function writeHead(method: string, { path }: WebParts, headers: readonly string[]): Buffer {
  const lines = Array.from(
    { length: headers.length / 2 },
    (_, index) => `${headers[2 * index]}: ${headers[2 * index + 1]}\r\n`,
  );
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
}

async function readHeads(reader: Reader, warn: Warn): Promise<Pick<Message, 'interim'> & Head> {
  const interim: Head[] = [];
  while (interim.length <= INTERIM_RESPONSES) {
    const head = await readHead(reader, warn);
    if (head.status === 101)
      throw targetFailed('protocol', { detail: 'The target switched to another protocol (status 101).' });
    if (head.status >= 200) return { ...head, interim };
    interim.push(head);
  }
  throw targetFailed('protocol', {
    detail: `The target sent more than ${INTERIM_RESPONSES} interim responses (1xx).`,
  });
}

/** Size in bytes from which a body is sent only if the head of the request is not refused. */
const LARGE_BYTES = 64 * 1024;
/** Milliseconds for a refusal before a large body is sent. Servers that are near and judge by the head need less. */
const REFUSAL_MS = 20;

/**
 * Whether the server refuses a request by its head. If it closes the connection while it has a part of the body unread, its system
 * discards what it has not sent of its response. curl waits up to a second for this, of servers that know `Expect`.
 */
async function isRefused(heads: Promise<Head>): Promise<boolean> {
  // A timer that fires late precedes the reading of data that has arrived in time.
  const pause = sleep(REFUSAL_MS).then(() => nextTurn(null));
  const head = await Promise.race([heads, pause]).catch(() => null);
  return head !== null && head.status >= REFUSALS;
}

/**
 * Sends one request over its own connection and waits for the headers of the final response.
 *
 * The response is parsed by `http1/`, which accepts what curl accepts and reports deviations from the standard. Node's HTTP
 * client, even with its lenient parser, and undici reject repeated Content-Length headers, invalid header names and spaces
 * before a colon. Strict parsers guard against request smuggling on shared connections, which is impossible here because
 * each connection carries one request.
 *
 * @throws ServiceError `target_failed` for a response that cannot be parsed, a switch to another protocol or too many
 *   interim responses
 */
export async function sendRequest(
  socket: Socket,
  url: WebParts,
  headers: readonly string[],
  { method = 'GET', body, isCut = () => false }: RequestOptions & Partial<Pick<Observed, 'isCut'>>,
): Promise<Message> {
  const reader = createReader(socket);
  const warnings = new Set<ResponseWarning>();
  const warn = (warning: ResponseWarning): void => void warnings.add(warning);
  try {
    socket.write(writeHead(method, url, headers));
    const heads = readHeads(reader, warn);
    const bytes = body === undefined || body === null ? null : Buffer.from(body);
    if (bytes !== null && (bytes.length < LARGE_BYTES || !(await isRefused(heads)))) socket.write(bytes);
    const head = await heads;
    const framing = readFraming(head, method, warn);
    const trailers: Header[] = [];
    return {
      ...head,
      framing,
      body: readBody(reader, framing, head.status, { warn, trailers, isCut, mayReset: bytes !== null }),
      trailers,
      warnings,
      close: () => socket.destroy(),
    };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
