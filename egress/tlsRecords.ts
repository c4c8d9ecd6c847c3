import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';

/** Bytes of the header of a TLS record: type, version, length (RFC 8446 section 5.1). */
const HEADER_BYTES = 5;
const sizeOf = (record: Buffer): number => HEADER_BYTES + record.readUInt16BE(3);

/** A connection on which TLS can be started, and which observes how TLS ends. */
interface RecordStream {
  stream: Duplex;
  /**
   * Returns a function that tells, after the end of the connection, whether the server's last record contained no data. It is then
   * the alert `close_notify` (RFC 8446 section 6.1), without which the data may be cut off.
   *
   * @param secure the TLS socket on the stream, before its handshake
   */
  watch(secure: TLSSocket): () => boolean;
}

/**
 * Passes the bytes of a socket on, in pieces that belong to one TLS record each. Node reports the same end of a connection with
 * and without `close_notify`, and alerts of TLS 1.3 are encrypted, so that only their lack of data tells them from other records.
 */
export function splitRecords(socket: Socket): RecordStream {
  let rest: Buffer = Buffer.alloc(0);
  /** Bytes of the current record that have not arrived. */
  let missing = 0;
  let ended = false;
  const stream = new Duplex({
    read: () => void socket.resume(),
    write: (chunk, encoding, done) =>
      void socket.write(chunk, encoding, (error) => (error ? fail(error) : done())),
    final: (done) => void socket.end(done),
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  /** @returns whether the stream wants more */
  function pass(chunk: Buffer): boolean {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let wanted = true;
    while (rest.length >= (missing === 0 ? HEADER_BYTES : 1)) {
      if (missing === 0) missing = sizeOf(rest);
      const piece = rest.subarray(0, missing);
      missing -= piece.length;
      rest = rest.subarray(piece.length);
      wanted = stream.push(piece);
    }
    return wanted;
  }
  /** Ends the stream when all that arrived before the failure has been read. A paused socket still has some of it. */
  function fail(error?: Error): void {
    if (ended) return;
    for (let left: unknown = socket.read(); Buffer.isBuffer(left); left = socket.read()) pass(left);
    const destroyEmpty = (): void => {
      if (stream.readableLength === 0) stream.destroy(error);
    };
    stream.on('data', destroyEmpty);
    destroyEmpty();
  }
  socket.on('data', (chunk: Buffer) => {
    if (!pass(chunk)) socket.pause();
  });
  socket.on('end', () => {
    ended = true;
    if (rest.length > 0) stream.push(rest);
    stream.push(null);
  });
  socket.on('error', fail);
  socket.on('close', () => fail());
  return {
    stream,
    watch(secure) {
      let left = 0;
      let before = 0;
      let after = 0;
      // This listener runs before the piece is decrypted, the second one after that.
      stream.prependListener('data', (piece: Buffer) => {
        if (left <= 0) {
          before = secure.bytesRead;
          left = piece.length < HEADER_BYTES ? 0 : sizeOf(piece);
        }
        left -= piece.length;
      });
      stream.on('data', () => {
        after = secure.bytesRead;
      });
      return () => left === 0 && before === after;
    },
  };
}
