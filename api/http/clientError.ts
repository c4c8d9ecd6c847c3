import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { ERRORS, ServiceError } from '../../schemas/errors.ts';
import { problemBody } from './problem.ts';

/** How long a client may keep its side of the connection open after the response was sent. */
const LINGER_MS = 2000;

/**
 * Writes an error response (RFC 9457) to a socket for which Node.js has no response object, and closes the
 * connection.
 */
function sendRawProblem(socket: Duplex, error: ServiceError, headers: readonly string[] = []): void {
  const requestId = `req_${randomUUID()}`;
  const timeout = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timeout));
  const body = JSON.stringify(problemBody(error, requestId));
  const { status, title } = ERRORS[error.code];
  socket.end(
    [
      `HTTP/1.1 ${status} ${title}`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      'X-Content-Type-Options: nosniff',
      ...headers,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

/**
 * Responds to a request that Node.js could not parse or that did not arrive in time. A connection on which nothing was sent is closed
 * without a response: browsers open spare ones, and would take it for the response to their first request.
 */
export function answerClientError(error: Error, socket: Duplex): void {
  const code = 'code' in error ? error.code : null;
  const isSpare = code === 'ERR_HTTP_REQUEST_TIMEOUT' && 'bytesRead' in socket && socket.bytesRead === 0;
  if (code === 'ECONNRESET' || isSpare || !socket.writable) {
    socket.destroy();
    return;
  }
  const detail = 'The request is not valid HTTP/1.1, its headers are too large, or it arrived too slowly.';
  sendRawProblem(socket, new ServiceError('invalid_header', { detail }));
}

/** Refuses a CONNECT request; the API is not a proxy. */
export function answerConnect(_request: IncomingMessage, socket: Duplex): void {
  socket.on('error', () => socket.destroy());
  sendRawProblem(socket, new ServiceError('method_not_allowed'), ['Allow: GET, HEAD, POST']);
}
