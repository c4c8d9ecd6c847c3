import { connect, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** Runs an attack on one connection, with an API key, until the attack is complete or the connection closes. */
type Attack = (socket: Socket, key: string) => Promise<void>;

const LARGE_BODY = 5_000_000;
/** Pause in milliseconds before a connection that the server closed is opened again. */
const PAUSE_MS = 200;
/** Number of connections that are opened without a pause. */
const BURST = 100;
/**
 * Attackers have machines of their own. At the lowest priority, their processor time is not taken from the service when
 * all run on one machine.
 */
const LOWEST_PRIORITY = 19;

const head = (key: string, ...lines: string[]): string =>
  [
    'POST /api/v1/tools/html-to-image HTTP/1.1',
    'Host: x',
    'Content-Type: application/json',
    `Authorization: Bearer ${key}`,
    ...lines,
    '',
    '',
  ].join('\r\n');

async function trickle(socket: Socket, text: string, everyMs: number): Promise<void> {
  while (!socket.destroyed) {
    socket.write(text);
    await sleep(everyMs);
  }
}

const unknownFields = `{${Array.from({ length: 7000 }, (_, index) => `"a${index}":1`).join()}}`;

/** The attacks by name, with the number of concurrent connections of each. */
export const ATTACKS: Record<string, { connections: number; attack: Attack }> = {
  '10,000 idle connections': { connections: 10_000, attack: async () => undefined },
  '1,000 half-open connections': {
    connections: 1000,
    attack: async (socket) => {
      socket.write('GET /livez HTTP/1.1\r\nHost: x\r\nX-Half: ');
    },
  },
  '500 slow uploads': {
    connections: 500,
    attack: async (socket, key) => {
      socket.write(`${head(key, `Content-Length: ${LARGE_BODY}`)}{"html":"`);
      await trickle(socket, 'x'.repeat(100), 500);
    },
  },
  '100 incomplete uploads': {
    connections: 100,
    attack: async (socket, key) => {
      socket.write(`${head(key, `Content-Length: ${LARGE_BODY}`)}{"html":"${'x'.repeat(LARGE_BODY - 100)}`);
    },
  },
  '200 connections that never read': {
    connections: 200,
    attack: async (socket, key) => {
      socket.pause();
      await trickle(socket, head(key, `Content-Length: ${unknownFields.length}`) + unknownFields, 5000);
    },
  },
  '20 connections that send endless headers': {
    connections: 20,
    attack: async (socket) => {
      socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n');
      await trickle(socket, `X-Flood: ${'x'.repeat(1000)}\r\n`, 50);
    },
  },
};

/** Resolves at the event. Unlike `once` of Node, it does not reject when the server resets the connection. */
const happens = (socket: Socket, event: 'connect' | 'close'): Promise<void> =>
  new Promise((resolve) => {
    socket.once(event, () => resolve());
  });

/** Repeats an attack on new connections until this process is killed. */
async function repeatAttack({ hostname, port }: URL, key: string, attack: Attack): Promise<never> {
  for (;;) {
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    await Promise.race([happens(socket, 'connect'), happens(socket, 'close')]);
    const closed = socket.closed ? null : happens(socket, 'close');
    await attack(socket, key);
    await closed;
    await sleep(PAUSE_MS);
  }
}

// Started by connections.ts as a process of its own: attacks.ts NAME BASE_URL KEY SHARE, the last of the connections
if (import.meta.main) {
  const [name = '', baseUrl = '', key = '', share] = process.argv.slice(2);
  const attacks = ATTACKS[name];
  if (attacks === undefined) throw new Error(`no attack ${name}`);
  setPriority(LOWEST_PRIORITY);
  for (let index = 0; index < attacks.connections * Number(share); index++) {
    void repeatAttack(new URL(baseUrl), key, attacks.attack);
    if (index % BURST === BURST - 1) await sleep(10);
  }
}
