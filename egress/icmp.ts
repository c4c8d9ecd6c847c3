import { runProbe } from './probeProgram.ts';
import type { Vetted } from './vet.ts';

export interface EchoOptions {
  /** One of the vetted addresses. */
  address: string;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Sends one ICMP echo request. Resolves to null when this process is not permitted to send any. */
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
 * Sends ICMP through iputils' ping, which has the capability or the unprivileged socket (`net.ipv4.ping_group_range`) that
 * Node lacks, and takes the time of a reply from the kernel. Each probe is one process, because with several probes ping
 * exits some time after the first reply, regardless of `-W`.
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

/** Whether the program is there and permitted to send ICMP. It is tried on loopback. */
export async function permitsIcmp(program: string, signal: AbortSignal): Promise<boolean> {
  const { code } = await runProbe(program, wordsFor('127.0.0.1', CHECK_MS), { timeoutMs: CHECK_MS, signal });
  return code === REPLY || code === NO_REPLY;
}
