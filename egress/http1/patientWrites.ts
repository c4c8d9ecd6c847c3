import type { Socket } from 'node:net';

type Done = (error?: Error | null) => void;

/**
 * Keeps a socket readable after a failed write. A server may respond and close the connection before it has read the whole
 * request (RFC 9112 section 9.6). Further writes then fail, and Node would destroy the socket with the response unread. The
 * failure is reported at the end of the read side, which follows, because the connection is closed. The caller must destroy
 * the socket at its deadline.
 */
export function reportWriteErrorsLast(socket: Socket): void {
  const held = (done: Done): Done => {
    return (error) => {
      if (error === undefined || error === null || socket.readableEnded || socket.destroyed) done(error);
      else socket.once('end', () => done(error));
    };
  };
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, done) => write(chunk, encoding, held(done));
  if (writev !== undefined) socket._writev = (chunks, done) => writev(chunks, held(done));
}
