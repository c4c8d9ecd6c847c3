import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import type { Stack } from '../helpers/stack.ts';
import { type Measured, measure } from './measure.ts';

export interface ConnectionsRow {
  /** Name of the attack that runs during the calls. */
  attackName: string;
  /** Figures of sequential hash-text calls of one caller. */
  call: Measured;
  /** p95 of the calls during the attack, divided by the mean p95 of the calls before and after it. */
  ratio: number;
  /** Peak memory of the API process in MB. */
  memory: number;
}

const CALLS = 100;
const WARM_UP = 20;
const LARGE_BODY = 5_000_000;

/** Runs an attack on one connection until the signal aborts or the connection closes. */
type Attack = (socket: Socket, account: TestAccount, signal: AbortSignal) => Promise<void>;

const head = (account: TestAccount, ...lines: string[]): string =>
  [
    'POST /api/v1/tools/html-to-image HTTP/1.1',
    'Host: x',
    'Content-Type: application/json',
    `Authorization: Bearer ${account.toolsKey}`,
    ...lines,
    '',
    '',
  ].join('\r\n');

async function trickle(socket: Socket, text: string, everyMs: number, signal: AbortSignal): Promise<void> {
  while (!socket.destroyed && !signal.aborted) {
    socket.write(text);
    await sleep(everyMs, undefined, { ref: false });
  }
}

const unknownFields = `{${Array.from({ length: 7000 }, (_, index) => `"a${index}":1`).join()}}`;

const ATTACKS: Record<string, { connections: number; attack: Attack }> = {
  '10,000 idle connections': { connections: 10_000, attack: async () => undefined },
  '1,000 half-open connections': {
    connections: 1000,
    attack: async (socket) => {
      socket.write('GET /livez HTTP/1.1\r\nHost: x\r\nX-Half: ');
    },
  },
  '500 slow uploads': {
    connections: 500,
    attack: async (socket, account, signal) => {
      socket.write(`${head(account, `Content-Length: ${LARGE_BODY}`)}{"html":"`);
      await trickle(socket, 'x'.repeat(100), 500, signal);
    },
  },
  '100 incomplete uploads': {
    connections: 100,
    attack: async (socket, account) => {
      socket.write(
        `${head(account, `Content-Length: ${LARGE_BODY}`)}{"html":"${'x'.repeat(LARGE_BODY - 100)}`,
      );
    },
  },
  '200 connections that never read': {
    connections: 200,
    attack: async (socket, account, signal) => {
      socket.pause();
      await trickle(
        socket,
        head(account, `Content-Length: ${unknownFields.length}`) + unknownFields,
        5000,
        signal,
      );
    },
  },
  '20 connections that send endless headers': {
    connections: 20,
    attack: async (socket, _account, signal) => {
      socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n');
      await trickle(socket, `X-Flood: ${'x'.repeat(1000)}\r\n`, 50, signal);
    },
  },
};

async function open({ baseUrl }: Stack): Promise<Socket> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return socket;
}

/** Repeats an attack on new connections until the signal aborts. */
async function repeatAttack(stack: Stack, account: TestAccount, attack: Attack, signal: AbortSignal) {
  while (!signal.aborted) {
    const socket = await open(stack);
    const closed = once(socket, 'close');
    const end = () => socket.destroy();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    else await attack(socket, account, signal);
    await closed;
    signal.removeEventListener('abort', end);
    // Limits the rate of new connections if the server closes them immediately.
    await sleep(200, undefined, { ref: false });
  }
}

/** Measures the calls of one caller and the memory of the API while other connections attack the API. */
export async function benchConnections(stack: Stack): Promise<ConnectionsRow[]> {
  const [caller, other] = [await makeAccount(stack, 1_000_000), await makeAccount(stack, 1_000_000)];
  const call = async (index: number) => {
    const response = await caller.call('hash-text', { text: `bench ${index}` });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  const memory = (): number =>
    Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${stack.pid('api')}/status`, 'utf8'))?.[1]) / 1024;
  const calls = () => measure(CALLS, 1, call);

  await measure(WARM_UP, 1, call);
  const rows: ConnectionsRow[] = [];
  let before = await calls();
  for (const [attackName, { connections, attack }] of Object.entries(ATTACKS)) {
    const stop = new AbortController();
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, memory());
    }, 100);
    const attackers: Promise<void>[] = [];
    try {
      for (let index = 0; index < connections; index++) {
        attackers.push(repeatAttack(stack, other, attack, stop.signal));
        if (index % 100 === 99) await sleep(10);
      }
      await sleep(2000);
      const during = await calls();
      stop.abort();
      await Promise.all(attackers);
      const after = await calls();
      rows.push({
        attackName,
        call: during,
        ratio: (2 * during.p95) / (before.p95 + after.p95),
        memory: most,
      });
      before = after;
    } finally {
      stop.abort();
      clearInterval(watch);
      await Promise.all(attackers);
    }
  }
  return rows;
}
