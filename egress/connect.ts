import { once } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import { parseAddress } from '../schemas/formats/address.ts';
import { type Clock, type Limits, startClock } from './clock.ts';
import { readSocketError, targetFailed } from './failure.ts';
import type { Vetted } from './vet.ts';

export interface ConnectOptions extends Limits {
  /** Connects only to this one of the vetted addresses. Default: tries the vetted addresses in order until one connects. */
  address?: string;
}

/** Starts to open a TCP connection, and returns its socket before it is connected. */
export type Dial = (address: string, port: number) => Socket;

export const dialTcp: Dial = (address, port) =>
  connectSocket({ host: address, port, noDelay: true, autoSelectFamily: false });

/** Connect timeout in milliseconds of one address while further addresses remain to try; the last may use all time left. */
const ATTEMPT_MS = 2_000;

/** An `error` event without a listener would end the process. Code that reads or writes the socket still gets the error. */
const ignoreError = (): void => undefined;

function isPeer(socket: Socket, address: string): boolean {
  const peer = parseAddress(socket.remoteAddress ?? '');
  const wanted = parseAddress(address);
  return peer !== null && wanted !== null && peer.family === wanted.family && peer.value === wanted.value;
}

async function open(dial: Dial, address: string, port: number, { signal }: Clock): Promise<Socket> {
  signal.throwIfAborted();
  const socket = dial(address, port);
  socket.on('error', ignoreError);
  try {
    await once(socket, 'connect', { signal });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  if (isPeer(socket, address)) return socket;
  socket.destroy();
  throw targetFailed('unreachable', { cause: new Error(`connected to ${socket.remoteAddress}`) });
}

/**
 * Opens a TCP connection to a vetted target. The caller must destroy the socket. An `error` event of the socket does not end
 * the process, even without a listener.
 *
 * @throws ServiceError `target_failed` with the failure of the address that was tried last, `target_timeout`,
 *   `deadline_exceeded`; the signal's reason when it aborts
 */
export async function connect(vetted: Vetted, dial: Dial, options: ConnectOptions): Promise<Socket> {
  const { target, addresses } = vetted;
  const { address: only } = options;
  if (only !== undefined && !addresses.includes(only)) throw new RangeError('not a vetted address');
  const left = only === undefined ? [...addresses] : [only];
  using whole = startClock(options);
  for (;;) {
    const address = left.shift() ?? '';
    const deadline = left.length === 0 ? whole.deadline : Math.min(whole.deadline, Date.now() + ATTEMPT_MS);
    using attempt = startClock({ signal: whole.signal, deadline });
    try {
      return await open(dial, address, target.port, attempt);
    } catch (error) {
      if (whole.signal.aborted || left.length === 0)
        throw whole.explain(attempt.explain(readSocketError(error)));
    }
  }
}
