import { runProbe } from './probeProgram.ts';
import type { Vetted } from './vet.ts';

export interface EchoOptions {
  /** The vetted address to probe. */
  address: string;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Measures one ICMP echo, in milliseconds. Resolves to null when ping is not permitted to send ICMP. */
export type Echo = (
  vetted: Vetted,
  options: EchoOptions,
) => Promise<{ status: 'ok'; ms: number } | { status: 'timeout' | 'unreachable' } | null>;

/** Exit codes of iputils' ping. */
const REPLY = 0;
const NO_REPLY = 1;
const CHECK_MS = 1000;

const wordsFor = (address: string, timeoutMs: number): string[] => [
  ...['-n', '-c', '1', '-W', String(timeoutMs / 1000), '--', address],
];

/**
 * Sends each ICMP echo request with a process of iputils' ping. Unlike Node, ping may send ICMP, by a file capability or an
 * unprivileged ICMP socket (`net.ipv4.ping_group_range`), and takes the arrival time of a reply from the kernel. One process
 * sends one request, because after the first of several replies, ping stops waiting regardless of its timeout `-W`.
 */
export function createEcho(program: string): Echo {
  return async ({ addresses }, { address, timeoutMs, signal }) => {
    if (!addresses.includes(address)) throw new RangeError('not a vetted address');
    const { stdout, code } = await runProbe(program, wordsFor(address, timeoutMs), { timeoutMs, signal });
    const [, time] = /\btime[=<]([\d.]+) ms/.exec(stdout) ?? [];
    if (time !== undefined) {
      const ms = Number(time);
      return ms <= timeoutMs ? { status: 'ok', ms } : { status: 'timeout' };
    }
    if (code !== NO_REPLY) return null;
    return { status: /unreachable|prohibited|filtered/i.test(stdout) ? 'unreachable' : 'timeout' };
  };
}

/** Whether ping is installed and permitted to send ICMP, tested with an echo request to 127.0.0.1. */
export async function permitsIcmp(program: string, signal: AbortSignal): Promise<boolean> {
  const { code } = await runProbe(program, wordsFor('127.0.0.1', CHECK_MS), { timeoutMs: CHECK_MS, signal });
  return code === REPLY || code === NO_REPLY;
}
