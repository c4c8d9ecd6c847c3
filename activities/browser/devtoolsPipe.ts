import type { Duplex } from 'node:stream';
import type { ConnectionTransport } from 'puppeteer';

const END = 0;

/**
 * Carries the messages of the DevTools protocol over the pipes of `--remote-debugging-pipe`, each of which ends with a null byte.
 */
export class DevtoolsPipe implements ConnectionTransport {
  onmessage?: (message: string) => void;
  onclose?: () => void;
  readonly #toBrowser: Duplex;
  readonly #fromBrowser: Duplex;
  #pending: Buffer[] = [];

  constructor(toBrowser: Duplex, fromBrowser: Duplex) {
    this.#toBrowser = toBrowser;
    this.#fromBrowser = fromBrowser;
    // Writing fails when the browser has ended; the other pipe then closes.
    toBrowser.on('error', () => undefined);
    fromBrowser.on('error', () => undefined);
    fromBrowser.on('data', (chunk: Buffer) => this.#read(chunk));
    fromBrowser.on('close', () => this.onclose?.());
  }

  #read(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(END); end !== -1; end = chunk.indexOf(END, start)) {
      this.#pending.push(chunk.subarray(start, end));
      const message = Buffer.concat(this.#pending).toString();
      this.#pending = [];
      start = end + 1;
      // As with a WebSocket, each message is a task of its own: what the handler of one schedules runs before the next one.
      setImmediate(() => this.onmessage?.(message));
    }
    if (start < chunk.length) this.#pending.push(chunk.subarray(start));
  }

  send(message: string): void {
    this.#toBrowser.write(`${message}\0`);
  }

  close(): void {
    this.#toBrowser.destroy();
    this.#fromBrowser.destroy();
  }
}
