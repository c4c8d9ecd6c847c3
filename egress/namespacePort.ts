import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/**
 * A listening port of 127.0.0.1 in the network namespace of other processes. Its connections go to one receiver at a time, and
 * are closed while there is none.
 */
export class NamespacePort implements Disposable {
  readonly #server: Server;
  #receive: ((socket: Socket) => void) | null = null;

  constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      socket.setNoDelay(true);
      if (this.#receive === null) socket.destroy();
      else this.#receive(socket);
    });
    server.unref();
  }

  /** Sends the connections to `receive` until the result is disposed. */
  attach(receive: (socket: Socket) => void): Disposable {
    if (this.#receive !== null) throw new Error('the port has a receiver');
    this.#receive = receive;
    return {
      [Symbol.dispose]: () => {
        if (this.#receive === receive) this.#receive = null;
      },
    };
  }

  [Symbol.dispose](): void {
    this.#server.close();
  }
}

/** The program that opens a `NamespacePort`, and its only argument. */
export const LISTEN_IN_NAMESPACE: readonly [program: string, script: string] = [
  process.execPath,
  fileURLToPath(new URL('./listenInNamespace.mjs', import.meta.url)),
];

/**
 * Receives the port that `LISTEN_IN_NAMESPACE` opens in the namespace of a child process, and closes the IPC channel.
 *
 * @throws Error when the child ends before; the signal's reason
 */
export async function receivePort(child: ChildProcess, signal: AbortSignal): Promise<NamespacePort> {
  const over = new AbortController();
  const either = { signal: AbortSignal.any([signal, over.signal]) };
  try {
    const server: unknown = await Promise.race([
      once(child, 'message', either).then(([, handle]: unknown[]) => handle),
      once(child, 'exit', either).then(([code]: unknown[]) => {
        throw new Error(`the program in the network namespace ended with ${code}`);
      }),
    ]);
    if (!(server instanceof Server)) throw new Error('the program in the network namespace sent no port');
    return new NamespacePort(server);
  } finally {
    over.abort();
    if (child.connected) child.disconnect();
  }
}
