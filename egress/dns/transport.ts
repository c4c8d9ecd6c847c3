import { createSocket } from 'node:dgram';
import { on, once } from 'node:events';
import { connect, isIPv6 } from 'node:net';
import type { DnsServer } from '../../schemas/envValues.ts';

const MAX_MESSAGE = 0xffff;

/**
 * Sends a query as one UDP datagram and waits for the first reply for which `accept` returns true. The socket is connected,
 * so the kernel drops datagrams of other senders and reports a closed port. The local port is random.
 *
 * @throws on a socket error, and when the signal is aborted
 */
export async function queryUdp(
  server: DnsServer,
  query: Buffer,
  accept: (message: Buffer) => boolean,
  signal: AbortSignal,
): Promise<Buffer> {
  signal.throwIfAborted();
  const socket = createSocket(isIPv6(server.address) ? 'udp6' : 'udp4');
  try {
    socket.connect(server.port, server.address);
    await once(socket, 'connect', { signal });
    const datagrams = on(socket, 'message', { signal });
    await new Promise<void>((resolve, reject) =>
      socket.send(query, (error) => (error === null ? resolve() : reject(error))),
    );
    for await (const [message] of datagrams) if (accept(message)) return message;
    throw new Error('the socket closed');
  } finally {
    socket.close();
  }
}

/**
 * Sends a query over TCP and waits for the reply. Each message has a two-byte length prefix (RFC 1035 section 4.2.2).
 *
 * @throws on a socket error, when the server closes the connection before its reply is complete, and when the signal is
 *   aborted
 */
export async function queryTcp(server: DnsServer, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  signal.throwIfAborted();
  const socket = connect({ host: server.address, port: server.port, noDelay: true, signal });
  try {
    await once(socket, 'connect');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(query.length);
    socket.write(Buffer.concat([length, query]));

    const received = Buffer.alloc(2 + MAX_MESSAGE);
    let size = 0;
    const chunks: AsyncIterable<Buffer> = socket;
    for await (const chunk of chunks) {
      size += chunk.copy(received, size);
      const end = 2 + received.readUInt16BE(0);
      if (size >= end) return received.subarray(2, end);
    }
    throw new Error('the server closed the connection before its reply was complete');
  } finally {
    socket.destroy();
  }
}
