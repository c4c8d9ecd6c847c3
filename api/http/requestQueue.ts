import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { receivedBytes } from './body.ts';

/** Maximum number of requests of a connection that have arrived and wait for the one in work. */
const WAITING = 32;
/** Bytes that Node.js receives of the body of such a request before it stops reading from the connection. */
const BODY_BYTES = 65_536;
/** Bytes of such a request beside what it consists of: the objects of Node.js. */
const OBJECT_BYTES = 4096;

interface Waiting {
  request: IncomingMessage;
  response: ServerResponse;
  /** Its share of the memory for bodies that are being received, while it waits. */
  share?: Disposable;
}

/** Returns the most memory in bytes that a request takes before it begins. */
function sizeOf({ headers, rawHeaders }: IncomingMessage): number {
  const length =
    headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : BODY_BYTES;
  return OBJECT_BYTES + rawHeaders.join('').length + Math.min(length, BODY_BYTES);
}

/**
 * Closes a connection on which many requests wait. Node.js then creates an error for each request, also for those that had arrived in
 * the same packet; without their stack traces that takes a third of the time, in which no other connection is served.
 */
function closeCheaply(socket: Socket): void {
  if (socket.destroyed) return;
  const { stackTraceLimit } = Error;
  socket.prependOnceListener('close', () => {
    Error.stackTraceLimit = 0;
  });
  socket.once('close', () => {
    Error.stackTraceLimit = stackTraceLimit;
  });
  socket.destroy();
}

/**
 * Creates a listener that works on one request of a connection at a time: the next one begins when the operating system has
 * taken the whole response to the one before. Node.js itself starts every request that a client sends without waiting for
 * the responses (pipelining, RFC 9112, section 9.3.2), and keeps their responses in memory. When a connection ends, the
 * requests that wait on it are dropped. A connection with too many of them is closed, and what those of all connections take counts
 * like bodies that are being received.
 */
export function oneAtATime(listener: RequestListener): RequestListener {
  /** The waiting requests of each connection that has a request in work. */
  const queues = new WeakMap<Socket, Waiting[]>();

  function start(socket: Socket, { request, response, share }: Waiting): void {
    share?.[Symbol.dispose]();
    response.once('close', () => {
      const next = socket.destroyed ? undefined : queues.get(socket)?.shift();
      if (next === undefined) queues.delete(socket);
      else start(socket, next);
    });
    listener(request, response);
  }

  return (request, response) => {
    const { socket } = request;
    const queue = queues.get(socket);
    if (queue === undefined) {
      queues.set(socket, []);
      start(socket, { request, response });
      return;
    }
    if (queue.length >= WAITING) return closeCheaply(socket);
    const holder = { address: socket.remoteAddress ?? '', account: null };
    const share = receivedBytes.open(holder, () => closeCheaply(socket));
    queue.push({ request, response, share });
    // The request emits `close` when its connection does.
    request.once('close', () => share[Symbol.dispose]());
    share.add(sizeOf(request));
  };
}
