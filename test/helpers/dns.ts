import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Socket as TcpSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, type DecodedPacket, decode, encode, type Packet, type Question } from 'dns-packet';
import type { DnsServer } from '../../schemas/envValues.ts';

/** A DNS query that the test server received. */
export interface Received {
  /** Number of the query in order of arrival, from 1, counted over UDP and TCP together. */
  number: number;
  transport: 'udp' | 'tcp';
  fromPort: number;
  bytes: Buffer;
  packet: DecodedPacket;
  question: Question;
  /** Sends a datagram to the client from a port that the client did not query. */
  spoof(message: Buffer): Promise<void>;
}

/**
 * DNS messages to send back, or null to send nothing. Over TCP also raw pieces, which are sent one by one before the
 * connection closes.
 */
export type Response = Buffer | Buffer[] | null | { raw: Buffer[] };

export interface ScriptedDns extends DnsServer {
  received: Received[];
  close(): Promise<void>;
}

async function bindBoth(): Promise<{ tcp: ReturnType<typeof createServer>; udp: Socket; port: number }> {
  for (;;) {
    const tcp = createServer();
    await once(tcp.listen(0, '127.0.0.1'), 'listening');
    const address = tcp.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const { port } = address;
    const udp = createSocket('udp4');
    try {
      udp.bind(port, '127.0.0.1');
      await once(udp, 'listening');
      return { tcp, udp, port };
    } catch {
      // UDP already uses this port number, so try another one.
      udp.close();
      tcp.close();
    }
  }
}

/** Starts a DNS server on a free loopback port, UDP and TCP, that responds with the result of `respond`. */
export async function startDns(
  respond: (received: Received) => Response | Promise<Response>,
): Promise<ScriptedDns> {
  const { tcp, udp, port } = await bindBoth();
  const received: Received[] = [];
  const connections = new Set<TcpSocket>();

  function take(bytes: Buffer, transport: 'udp' | 'tcp', from: { address: string; port: number }): Received {
    const packet = decode(bytes);
    const question = packet.questions?.[0];
    if (question === undefined) throw new Error('a query without a question');
    const spoof = async (message: Buffer): Promise<void> => {
      const other = createSocket('udp4');
      await new Promise((resolve) => other.send(message, from.port, from.address, resolve));
      other.close();
    };
    const entry = {
      number: received.length + 1,
      transport,
      fromPort: from.port,
      bytes,
      packet,
      question,
      spoof,
    };
    received.push(entry);
    return entry;
  }

  udp.on('message', async (bytes, from: RemoteInfo) => {
    const response = await respond(take(bytes, 'udp', from));
    if (response === null || 'raw' in response) return;
    for (const message of [response].flat()) udp.send(message, from.port, from.address);
  });

  tcp.on('connection', (socket) => {
    connections.add(socket);
    socket.setNoDelay();
    socket.on('close', () => connections.delete(socket));
    // The client may disconnect at any time.
    socket.on('error', () => socket.destroy());
    let buffered = Buffer.alloc(0);
    socket.on('data', async (chunk) => {
      buffered = Buffer.concat([buffered, chunk]);
      if (buffered.length < 2 || buffered.length < 2 + buffered.readUInt16BE(0)) return;
      const from = { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 };
      const response = await respond(take(buffered.subarray(2), 'tcp', from));
      if (response === null) return;
      if ('raw' in response) {
        for (const piece of response.raw) {
          socket.write(piece);
          await sleep(1);
        }
        socket.end();
        return;
      }
      for (const message of [response].flat()) {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(message.length);
        socket.write(Buffer.concat([length, message]));
      }
    });
  });

  return {
    address: '127.0.0.1',
    port,
    received,
    async close() {
      for (const socket of connections) socket.destroy();
      udp.close();
      await new Promise((resolve) => tcp.close(resolve));
    },
  };
}

/** DNS response codes by name (RFC 1035 section 4.1.1). */
export const CODES = { NOERROR: 0, FORMERR: 1, SERVFAIL: 2, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 };

interface ReplyParts extends Pick<Packet, 'id' | 'questions' | 'authorities' | 'additionals'> {
  code?: keyof typeof CODES;
  truncated?: boolean;
}

const RECURSION = 0x0180;
const TRUNCATED = 0x0200;

/** Encodes a well-formed DNS response to a query with dns-packet. */
export function reply(to: Received, answers: Answer[], parts: ReplyParts = {}): Buffer {
  const { code = 'NOERROR', truncated = false, ...rest } = parts;
  return encode({
    type: 'response',
    id: to.packet.id ?? 0,
    flags: RECURSION | CODES[code] | (truncated ? TRUNCATED : 0),
    questions: [to.question],
    answers,
    ...rest,
  });
}

/** Returns the SOA record for the authority section of a negative DNS response. */
export const soa = (name: string, ttl: number, minimum: number): Answer => ({
  type: 'SOA',
  name,
  ttl,
  data: { mname: `ns.${name}`, rname: `root.${name}`, serial: 1, refresh: 2, retry: 3, expire: 4, minimum },
});

/** Forwards queries, and marks the answers as validated, as a resolver that validates DNSSEC does. */
export const startValidating = (server: DnsServer): Promise<ScriptedDns> =>
  startDns(async ({ packet, question }) => {
    const query = encode({ type: 'query', id: packet.id ?? 0, flags: 0x0120, questions: [question] });
    const socket = createSocket('udp4');
    socket.send(query, server.port, server.address);
    const [answer]: Buffer[] = await once(socket, 'message');
    socket.close();
    if (answer === undefined) throw new Error('no answer');
    answer.writeUInt16BE(answer.readUInt16BE(2) | (Number(packet.flag_ad) << 5), 2);
    return answer;
  });
