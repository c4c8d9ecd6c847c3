import type { Socket } from 'node:net';
import { readSocketError, targetFailed } from '../failure.ts';

/** Reads the bytes of a socket in order. Every method rejects with the error of the socket when the socket fails. */
export interface Reader {
  /** Reads the next bytes, at least one and at most `max`; null at the end of the connection. */
  some(max: number): Promise<Buffer | null>;
  /**
   * Reads the bytes before the next LF, and discards the LF.
   *
   * @param check called with the received part of the line whenever more of the line has arrived
   * @throws ServiceError `target_failed` at the end of the connection or after `max` bytes without LF
   */
  line(max: number, check?: (start: Buffer) => void): Promise<Buffer>;
  /** Whether the peer has reset the connection. */
  readonly wasReset: boolean;
}

/** When this many received bytes are unread, the socket is paused until they are read. */
const HIGH_WATER = 256 * 1024;
const LF = 0x0a;

/**
 * Starts to read from a socket. Bytes that arrived before a failure are still read: a server may reset the connection
 * after an early response, because it does not read the rest of the request.
 */
export function createReader(socket: Socket): Reader {
  const queue: Buffer[] = [];
  let waiting = 0;
  let end: { failure: unknown } | null = null;
  let wasReset = false;
  let arrived = Promise.withResolvers<void>();

  const take = (chunk: Buffer): void => {
    queue.push(chunk);
    waiting += chunk.length;
    if (waiting >= HIGH_WATER) socket.pause();
    arrived.resolve();
  };
  const finish = (failure: unknown): void => {
    // A paused socket keeps what arrived after the pause, and does not emit it once it has failed.
    socket.off('data', take);
    for (let rest: unknown = socket.read(); Buffer.isBuffer(rest); rest = socket.read()) take(rest);
    end ??= { failure };
    arrived.resolve();
  };
  socket.on('data', take);
  socket.on('end', () => finish(null));
  socket.on('error', (error: NodeJS.ErrnoException) => {
    wasReset ||= error.code === 'ECONNRESET' || error.code === 'EPIPE';
    finish(readSocketError(error));
  });
  socket.on('close', () => finish(targetFailed('reset')));
  if (socket.destroyed) finish(targetFailed('reset', { cause: socket.errored }));

  /** Puts bytes back at the front of the queue. */
  const unread = (bytes: Buffer): void => {
    if (bytes.length === 0) return;
    queue.unshift(bytes);
    waiting += bytes.length;
  };
  async function some(max: number): Promise<Buffer | null> {
    for (;;) {
      const chunk = queue.shift();
      if (chunk !== undefined) {
        waiting -= chunk.length;
        unread(chunk.subarray(max));
        if (waiting < HIGH_WATER && socket.isPaused()) socket.resume();
        return chunk.subarray(0, max);
      }
      if (end !== null) {
        if (end.failure === null) return null;
        throw end.failure;
      }
      arrived = Promise.withResolvers();
      await arrived.promise;
    }
  }
  async function line(max: number, check?: (start: Buffer) => void): Promise<Buffer> {
    let held = Buffer.alloc(0);
    while (held.length <= max) {
      const chunk = await some(max + 1 - held.length);
      if (chunk === null) throw targetFailed('reset');
      const at = chunk.indexOf(LF);
      held = Buffer.concat([held, at === -1 ? chunk : chunk.subarray(0, at)]);
      check?.(held);
      if (at === -1) continue;
      unread(chunk.subarray(at + 1));
      return held;
    }
    throw targetFailed('protocol', {
      detail: 'The target sent a header line or chunk line that is too long.',
    });
  }
  return {
    some,
    line,
    get wasReset() {
      return wasReset;
    },
  };
}
