import { setTimeout as sleep } from 'node:timers/promises';
import { failureKind } from '../../egress/failure.ts';
import type { Guard } from '../../egress/guard.ts';
import { createHandshake, type Handshake } from '../../egress/handshake.ts';
import { createEcho, type Echo } from '../../egress/icmp.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/ping.ts';
import type { NetworkContext } from '../runtime/context.ts';

type Input = ToolInput<typeof definition>;
type Output = ToolOutput<typeof definition>;
type Status = Output['attempts'][number]['status'];
type Vetted = Awaited<ReturnType<Guard['vet']>>;

/** Outcome of one probe; `ms` is null without a reply. */
interface Outcome {
  status: Status;
  ms: number | null;
}
/** Sends one probe. Resolves to null when this kind of probe is not possible on this machine. */
type Probe = (signal: AbortSignal) => Promise<Outcome | null>;

const INTERVAL_MS = 250;
const LOOKUP_MS = 10_000;
/** Milliseconds reserved for reporting a slow lookup before the attempt times out. */
const RESERVE_MS = 200;

/** Rounds milliseconds and percentages to three decimals, as ping prints them. */
const round = (value: number): number => Math.round(value * 1000) / 1000;
const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : round(values.reduce((sum, value) => sum + value, 0) / values.length);

/** Creates a TCP probe that this process measures itself. It is the last resort, because other work delays it. */
const ownProbe =
  (egress: Guard, vetted: Vetted, address: string, timeoutMs: number): Probe =>
  async (signal) => {
    const startedAt = performance.now();
    try {
      const socket = await egress.connect(vetted, { address, signal, deadline: Date.now() + timeoutMs });
      socket.destroy();
      return { status: 'ok', ms: round(performance.now() - startedAt) };
    } catch (error) {
      if (signal.aborted) throw error;
      if (error instanceof ServiceError && error.code === 'target_timeout')
        return { status: 'timeout', ms: null };
      const kind = failureKind(error);
      // Like a refused connection, a reset proves that the host replied.
      if (kind === 'refused' || kind === 'reset')
        return { status: 'refused', ms: round(performance.now() - startedAt) };
      if (kind === 'unreachable') return { status: 'unreachable', ms: null };
      throw error;
    }
  };

/** Creates a probe that a separate process sends and measures. */
const timedProbe =
  (send: Echo | Handshake, vetted: Vetted, address: string, timeoutMs: number): Probe =>
  async (signal) => {
    const reply = await send(vetted, { address, timeoutMs, signal });
    return reply && { status: reply.status, ms: 'ms' in reply ? round(reply.ms) : null };
  };

/** Sends probes at a fixed interval without waiting for replies. Returns null if this kind of probe is not possible. */
async function probeAll(probe: Probe, count: number, signal: AbortSignal): Promise<Outcome[] | null> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const impossible = new Error('this kind of probe is not possible here');
  const probes = Array.from({ length: count }, async (_, index) => {
    await sleep(index * INTERVAL_MS, undefined, { signal: either });
    const outcome = await probe(either);
    if (outcome === null) throw impossible;
    return outcome;
  });
  try {
    return await Promise.all(probes);
  } catch (error) {
    stop.abort();
    await Promise.allSettled(probes);
    signal.throwIfAborted();
    if (error === impossible) return null;
    throw error;
  }
}

/** The programs that send and time probes. */
interface Programs {
  echo: Echo;
  handshake: Handshake;
}

const PROGRAMS: Programs = { echo: createEcho('ping'), handshake: createHandshake('perl') };

/** Probes a host with ICMP if this process is permitted to send ICMP, else with TCP. */
export async function run(
  { host, count, port, timeoutMs }: Input,
  { egress, signal, deadline }: Pick<NetworkContext, 'egress' | 'signal' | 'deadline'>,
  { echo, handshake }: Programs = PROGRAMS,
): Promise<Output> {
  const target = egress.parseTarget(host, { kind: 'hostOrUrl', port, pointer: '/host' });
  const lookup = { signal, deadline: Math.min(deadline - RESERVE_MS, Date.now() + LOOKUP_MS) };
  const vetted = await egress.vet(target, lookup);
  const [address = ''] = vetted.addresses;

  const echoed = await probeAll(timedProbe(echo, vetted, address, timeoutMs), count, signal);
  const outcomes =
    echoed ??
    (await probeAll(timedProbe(handshake, vetted, address, timeoutMs), count, signal)) ??
    (await probeAll(ownProbe(egress, vetted, address, timeoutMs), count, signal));
  if (outcomes === null) throw new TypeError('a TCP probe has no outcome');

  const latencies = outcomes.flatMap(({ ms }) => ms ?? []);
  const replied = latencies.length > 0;
  return {
    resolvedIp: address,
    method: echoed === null ? 'tcp' : 'icmp',
    sent: outcomes.length,
    received: latencies.length,
    packetLossPercent: round((1 - latencies.length / outcomes.length) * 100),
    minMs: replied ? Math.min(...latencies) : null,
    avgMs: mean(latencies),
    maxMs: replied ? Math.max(...latencies) : null,
    jitter: mean(latencies.slice(1).map((ms, index) => Math.abs(ms - (latencies[index] ?? ms)))),
    attempts: outcomes.map(({ status, ms }, index) => ({
      sequence: index + 1,
      success: ms !== null,
      latency: ms,
      status,
    })),
  };
}
