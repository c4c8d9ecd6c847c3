import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import type { Certificate } from './certificates.ts';

/** Returns a random loopback address that nothing else uses, so that the SMTP ports are free on it. */
export const ownLoopback = (): string => `127.${[1, 2, 3].map(() => randomInt(1, 255)).join('.')}`;

/** The server side of one SMTP connection. */
export interface Peer {
  say(text: string | Buffer): void;
  /**
   * Sends text, and waits until the kernel has accepted all of it: the client must read what does not fit into the
   * kernel's buffers. @throws when the client disconnects
   */
  flush(text: Buffer): Promise<void>;
  /** Reads the next line that the client sends. @throws when the client has disconnected */
  hear(): Promise<string>;
  /** Waits until the client has sent something, which need not be a line. @throws when the client has disconnected */
  sent(): Promise<void>;
  /** Upgrades the connection to TLS. @throws when the client has disconnected */
  secure(certificate: Certificate): Promise<void>;
  /** Closes the connection with RST if the kernel supports it. */
  reset(): void;
}

export interface ScriptedSmtp {
  address: string;
  port: number;
  /** Lines received from clients, across all connections, in order of arrival. */
  heard: string[];
  connections: number;
  close(): void;
}

function createPeer(tcp: Socket, heard: string[]): Peer {
  let socket = tcp;
  let buffer = '';
  const collect = (): void => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      buffer += chunk.toString('latin1');
      socket.emit('more');
    });
    socket.on('close', () => socket.emit('more'));
  };
  collect();
  const more = async (): Promise<void> => {
    if (socket.destroyed || socket.readableEnded) throw new Error('the client has disconnected');
    await once(socket, 'more');
  };
  return {
    say: (text) => socket.write(text),
    flush: (text) =>
      new Promise((resolve, reject) => socket.write(text, (error) => (error ? reject(error) : resolve()))),
    async hear() {
      while (!buffer.includes('\n')) await more();
      const end = buffer.indexOf('\n');
      const line = buffer.slice(0, end).replace(/\r$/, '');
      buffer = buffer.slice(end + 1);
      heard.push(line);
      return line;
    },
    async sent() {
      while (buffer === '') await more();
    },
    async secure(certificate) {
      tcp.removeAllListeners('data');
      const secure = new TLSSocket(tcp, { isServer: true, ...certificate });
      socket = secure;
      collect();
      await once(secure, 'secure');
    },
    reset: () => tcp.resetAndDestroy(),
  };
}

/** Starts an SMTP server that runs the script for each client and then closes the connection. */
export async function startSmtp(
  script: (peer: Peer) => Promise<void> | void,
  port = 2525,
): Promise<ScriptedSmtp> {
  const address = ownLoopback();
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, async (socket) => {
    sockets.add(socket);
    state.connections++;
    try {
      await script(createPeer(socket, state.heard));
    } catch {
      // An error in the script means that the client has disconnected.
    }
    socket.end();
  });
  const state: ScriptedSmtp = {
    address,
    port,
    heard: [],
    connections: 0,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  await once(server.listen(port, address), 'listening');
  return state;
}

/**
 * Replies to the client's commands as a correct server would, until QUIT.
 *
 * @param answers other replies, by the first word of the command; a null reply ends the function without replying
 */
export async function serve(peer: Peer, answers: Record<string, string | Buffer | null> = {}): Promise<void> {
  const usual = {
    EHLO: '250-mail\r\n250 AUTH PLAIN LOGIN\r\n',
    AUTH: '235 2.7.0 OK\r\n',
    QUIT: '221 Bye\r\n',
  };
  for (;;) {
    const line = await peer.hear();
    const [word = ''] = line.split(' ');
    const answer = { ...usual, ...answers }[word.toUpperCase()];
    if (answer === null) return;
    peer.say(answer ?? '500 what?\r\n');
    if (word === 'QUIT') return;
  }
}

/** The findings of `swaks`, an SMTP test client, in the terms of the tool's output. */
interface SwaksReport {
  extensions: string[];
  tls: boolean;
  authSucceeded: boolean;
  transcript: string;
}

/**
 * Runs swaks, an SMTP test client, as a reference for the tool: it holds the same conversation, which ends after AUTH.
 * The user's own swaks settings are ignored.
 */
export async function swaks(server: string, port: number, ...options: string[]): Promise<SwaksReport> {
  const where = ['--server', server, '--port', `${port}`, '--timeout', '10', '--helo', '[127.0.0.1]'];
  const args = [...where, ...options];
  if (!options.includes('--quit-after')) args.push('--quit-after', 'AUTH');
  const transcript = await promisify(execFile)('swaks', args, {
    timeout: 30_000,
    env: { PATH: process.env.PATH, HOME: '/nonexistent' },
  }).then(
    ({ stdout }) => stdout,
    // swaks exits with a nonzero code when the server refuses AUTH.
    (error: { stdout?: string }) => error.stdout ?? '',
  );
  const hellos = transcript.split(/^ [-~]> EHLO .*\n/m).slice(1);
  const [, last = ''] = /^((?:<[-~]. 250.*\n)+)/m.exec(hellos.at(-1) ?? '') ?? [];
  return {
    extensions: [...last.matchAll(/^<.. {1,2}250[ -](.*)$/gm)].map(([, text = '']) => text).slice(1),
    tls: transcript.includes('=== TLS started'),
    authSucceeded: /^<.. {1,2}235/m.test(transcript),
    transcript,
  };
}
