import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { ERRORS, ServiceError } from '../schemas/errors.ts';
import { problemBody } from './middleware/problem.ts';

/** Answers what Node could not read as a request, or waited for too long, in the form of every other error. */
export function answerClientError(error: Error, socket: Duplex): void {
  const reset = 'code' in error && error.code === 'ECONNRESET';
  if (reset || !socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = `req_${randomUUID()}`;
  const detail =
    'The request is no HTTP/1.1, has a header that is none or too many of them, or came too slowly.';
  const fault = new ServiceError('invalid_header', { detail });
  const body = JSON.stringify(problemBody(fault, requestId));
  const { status } = ERRORS[fault.code];
  socket.end(
    [
      `HTTP/1.1 ${status} Bad Request`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      'X-Content-Type-Options: nosniff',
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
