import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { run } from '../../activities/tools/ping.ts';
import { createGuard } from '../../egress/guard.ts';
import { createHandshake } from '../../egress/handshake.ts';
import { createEcho } from '../../egress/icmp.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { blockEventLoop, soon } from '../helpers/egress.ts';
import type { Sizes } from './sizes.ts';

/** Times that ping reports for a loopback address, to which the kernel answers in microseconds. */
interface PingFigures {
  method: 'icmp' | 'tcp';
  avgMs: number;
  maxMs: number;
}

/** Milliseconds for which the event loop is blocked again and again. */
const BUSY_MS = 150;
/** Source of a program that listens on a port and prints it. A busy event loop in this process would delay its accept. */
const SERVER =
  "const s = require('net').createServer(); s.listen(0, '127.0.0.1', () => console.log(s.address().port))";

const egress = createGuard({
  resolver: { addresses: async () => ({ addresses: ['127.0.0.1'], chain: [] }) },
  allow: [parseAllow('127.0.0.0/8')],
  ownPorts: [],
});

/** Blocks the event loop of this process again and again while `work` runs. */
async function whileBusy<T>(work: () => Promise<T>): Promise<T> {
  const busy = setInterval(blockEventLoop, 1, BUSY_MS);
  try {
    return await work();
  } finally {
    clearInterval(busy);
  }
}

/** Measures loopback while the event loop is busy: ICMP in every slot of a network worker, and TCP. */
export async function benchPing({ slots }: Sizes['ping']): Promise<PingFigures[]> {
  const handshake = createHandshake('perl');
  const input = { host: 'example.com', count: 4, port: 443, timeoutMs: 5000 };
  const probe = (program: string, port: number) =>
    run({ ...input, port }, { egress, ...soon() }, { echo: createEcho(program), handshake });
  const figures = (outputs: Awaited<ReturnType<typeof probe>>[]): PingFigures => ({
    method: outputs[0]?.method ?? 'icmp',
    avgMs: Math.max(...outputs.map(({ avgMs }) => avgMs ?? Infinity)),
    maxMs: Math.max(...outputs.map(({ maxMs }) => maxMs ?? Infinity)),
  });
  const icmp = await whileBusy(() =>
    Promise.all(Array.from({ length: slots }, () => probe('ping', input.port))),
  );
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line]: Buffer[] = await once(server.stdout, 'data');
    const tcp = await whileBusy(() => probe('no-such-program', Number(line?.toString())));
    return [figures(icmp), figures([tcp])];
  } finally {
    server.kill('SIGKILL');
  }
}
