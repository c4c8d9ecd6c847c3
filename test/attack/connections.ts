import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ATTACKER_ADDRESSES, accountAt, type Scene } from './scene.ts';

/** An attack through many connections. */
export interface ConnectionAttack {
  connections: number;
  /** Number of client addresses that share the connections. Default: 1. */
  addresses?: number;
  /** Runs the attack on one connection, until it is complete or the connection closes. */
  attack(socket: Socket, key: string): Promise<void>;
}

const LARGE_BODY = 5_000_000;
/** Pause in milliseconds before a connection that the server closed is opened again. */
const PAUSE_MS = 200;
/** The same for connections that do nothing: their attack is to be open, not to open. */
const IDLE_MS = 10_000;
/** Number of connections that are opened without a pause. */
const BURST = 100;
/** Requests in one packet for a document that is not read: together more than the API buffers. */
const DOCUMENTS = 190;
/** Times that one packet contains the requests for pages that read MongoDB. */
const PAGES = 250;

const message = (method: string, path: string, ...lines: string[]): string =>
  [`${method} ${path} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n');

const head = (key: string, length: number): string =>
  message(
    'POST',
    '/api/v1/tools/html-to-image',
    'Content-Type: application/json',
    `Authorization: Bearer ${key}`,
    `Content-Length: ${length}`,
  );

async function trickle(socket: Socket, text: string, everyMs: number): Promise<void> {
  while (!socket.destroyed) {
    socket.write(text);
    await sleep(everyMs);
  }
}

const unknownFields = `{${Array.from({ length: 7000 }, (_, index) => `"a${index}":1`).join()}}`;

const deviceToken = 'grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=none&client_id=none';
const pages = [
  message('GET', `/dashboard/reset-password?token=${'a'.repeat(24)}`),
  message('GET', `/dashboard/confirm-email?token=${'a'.repeat(43)}`),
  message(
    'GET',
    '/api/auth/oauth2/authorize?response_type=code&client_id=none&redirect_uri=http%3A%2F%2Fx%2F',
  ),
  message(
    'POST',
    '/api/auth/device/token',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${deviceToken.length}`,
  ) + deviceToken,
].join('');

/** The attacks through connections by name. */
export const CONNECTION_ATTACKS = {
  '10,000 idle connections': { connections: 10_000, addresses: 20, attack: () => sleep(IDLE_MS) },
  '10,000 idle connections of one address': { connections: 10_000, attack: () => sleep(IDLE_MS) },
  '1,000 half-open connections': {
    connections: 1000,
    attack: async (socket) => {
      socket.write('GET /livez HTTP/1.1\r\nHost: x\r\nX-Half: ');
    },
  },
  '500 slow uploads': {
    connections: 500,
    attack: async (socket, key) => {
      socket.write(`${head(key, LARGE_BODY)}{"html":"`);
      await trickle(socket, 'x'.repeat(100), 500);
    },
  },
  '100 incomplete uploads': {
    connections: 100,
    attack: async (socket, key) => {
      socket.write(`${head(key, LARGE_BODY)}{"html":"${'x'.repeat(LARGE_BODY - 100)}`);
    },
  },
  '200 connections that never read': {
    connections: 200,
    attack: async (socket, key) => {
      socket.pause();
      await trickle(socket, head(key, unknownFields.length) + unknownFields, 5000);
    },
  },
  '20 connections that send endless headers': {
    connections: 20,
    attack: async (socket) => {
      socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n');
      await trickle(socket, `X-Flood: ${'x'.repeat(1000)}\r\n`, 50);
    },
  },
  'documents that are not read': {
    connections: 4,
    attack: async (socket) => {
      socket.pause();
      socket.write(message('GET', '/dashboard/pdf.worker.mjs').repeat(DOCUMENTS));
    },
  },
  'requests that wait on connections': {
    connections: 1000,
    attack: async (socket) => {
      socket.pause();
      const body = 'x'.repeat(60_000);
      const waiting = `${message('POST', '/dashboard/sign-in', `Content-Length: ${body.length}`)}${body}`;
      socket.write(message('GET', '/dashboard/pdf.worker.mjs').repeat(4) + waiting.repeat(28));
    },
  },
  'pages that read MongoDB': {
    connections: 20,
    attack: async (socket) => {
      socket.resume();
      socket.write(pages.repeat(PAGES));
    },
  },
} satisfies Record<string, ConnectionAttack>;

/** Resolves at the event. Unlike `once` of Node, it does not reject when the server resets the connection. */
const happens = (socket: Socket, event: 'connect' | 'close'): Promise<void> =>
  new Promise((resolve) => {
    socket.once(event, () => resolve());
  });

/** Runs an attack through a share of its connections until this process is killed. @param count called for each connection */
export async function attackConnections(
  scene: Scene,
  { connections, addresses = 1, attack }: ConnectionAttack,
  share: number,
  count: () => void,
): Promise<void> {
  const { hostname: host, port } = new URL(scene.baseUrl);
  const repeat = async (index: number): Promise<never> => {
    const localAddress = ATTACKER_ADDRESSES[index % addresses];
    for (;;) {
      const socket = connect({ host, port: Number(port), localAddress }).on('error', () => undefined);
      const closed = happens(socket, 'close');
      await Promise.race([happens(socket, 'connect'), closed]);
      count();
      await attack(socket, accountAt(scene, index).toolsKey);
      await closed;
      await sleep(PAUSE_MS);
    }
  };
  const all: Promise<never>[] = [];
  for (let index = 0; index < connections * share; index++) {
    all.push(repeat(index));
    if (index % BURST === BURST - 1) await sleep(10);
  }
  await Promise.all(all);
}
