import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import type { Dial } from '../../egress/connect.ts';
import { createGuard, type Guard, type GuardOptions } from '../../egress/guard.ts';
import type { HostAddresses, Resolver } from '../../egress/resolver.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import type { Certificate } from './certificates.ts';

export const never = new AbortController().signal;

/** Returns an abort signal that never fires and a deadline that a test does not reach. */
export const soon = (ms = 60_000): { signal: AbortSignal; deadline: number } => ({
  signal: never,
  deadline: Date.now() + ms,
});

/** Blocks the event loop for this many milliseconds, so that this process reads nothing from its sockets. */
export function blockEventLoop(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

/** Returns the code of the ServiceError that the work throws, or `ok` when it succeeds. */
export async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return 'ok';
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
}

export async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Ends a server and its connections with the test. */
export function closing(t: ExecutionContext, server: Server): void {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
}

/** Returns a guard that resolves no names and allows one loopback port and all public addresses. */
export const guardFor = (port: number): Guard =>
  createGuard({
    resolver: { addresses: () => Promise.reject(new Error('unexpected lookup')) },
    allow: [parseAllow(`127.0.0.1:${port}`)],
    ownPorts: [],
  });

/** Starts a web server on loopback, which is stopped after the test, and a guard that allows it. */
export async function serve(
  t: Pick<ExecutionContext, 'teardown'>,
  handle: Handle,
): Promise<{ origin: string; egress: Guard }> {
  const server = createServer(handle);
  const port = await listen(server);
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${port}`, egress: guardFor(port) };
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** A stub of the Internet: the same web server responds at every public address. */
export interface StubNetwork extends Disposable {
  guard: Guard;
  /** Host names that were resolved, in order. */
  lookups: string[];
  /** `address:port` of every outgoing connection, in order. */
  dialled: string[];
  close(): void;
}

interface StubOptions extends Partial<GuardOptions> {
  /** Resolves a host name. Default: 93.184.215.14 for every name. */
  resolve?: (name: string) => HostAddresses | Promise<HostAddresses>;
  handle?: Handle;
  /** Certificate of the server on ports that end in 443; the guard trusts it. */
  certificate?: Certificate;
}

/**
 * Returns a guard whose connections all end at one web server on loopback, whatever address it dials. Each socket
 * reports the dialled address as its peer. No traffic leaves the machine.
 */
export async function stubNetwork({
  resolve,
  handle,
  certificate,
  ...options
}: StubOptions): Promise<StubNetwork> {
  const answer: Handle = handle ?? ((_, response) => response.end('hello'));
  const plain = createServer(answer);
  const secure = createTlsServer({ ...certificate }, answer);
  const ports = { plain: await listen(plain), secure: await listen(secure) };
  const lookups: string[] = [];
  const dialled: string[] = [];
  const resolver: Pick<Resolver, 'addresses'> = {
    async addresses(name) {
      lookups.push(name);
      return (await resolve?.(name)) ?? { addresses: ['93.184.215.14'], chain: [] };
    },
  };
  const dial: Dial = (address, port) => {
    dialled.push(`${address}:${port}`);
    const socket = connect(`${port}`.endsWith('443') ? ports.secure : ports.plain, '127.0.0.1');
    return Object.defineProperty(socket, 'remoteAddress', { value: address });
  };
  const guard = createGuard({
    resolver,
    dial,
    ownPorts: [],
    ...(certificate === undefined ? {} : { ca: [certificate.cert] }),
    ...options,
  });
  const close = () => {
    plain.close();
    secure.close();
    plain.closeAllConnections();
    secure.closeAllConnections();
  };
  return { guard, lookups, dialled, close, [Symbol.dispose]: close };
}
