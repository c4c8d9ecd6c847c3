import { type ExecFileException, execFile } from 'node:child_process';
import { ServiceError } from '../schemas/errors.ts';
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
const NO_REPLY = 1;
/** Time for the program to start and exit, beyond the wait for a reply, in milliseconds. */
const GRACE_MS = 1000;

/**
 * Sends ICMP through iputils' ping, which has the capability or the unprivileged socket that Node lacks. Each probe is one
 * process, because with several probes ping exits some time after the first reply, regardless of `-W`.
 *
 * @param program name or path; a name is looked up in /usr/bin and /bin only
 */
export function createEcho(program: string): Echo {
  return ({ addresses }, { address, timeoutMs, signal }) => {
    if (!addresses.includes(address)) throw new RangeError('not a vetted address');
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<Echo>>>();
    const onExit = (error: ExecFileException | null, stdout: string) => {
      if (signal.aborted) return reject(signal.reason);
      const [, time] = /\btime[=<]([\d.]+) ms/.exec(stdout) ?? [];
      if (time !== undefined) {
        const ms = Number(time);
        return resolve(ms <= timeoutMs ? { status: 'ok', ms } : { status: 'timeout' });
      }
      // The program exits by itself after its wait; it was killed because it started or exited too slowly.
      if (error?.killed) return reject(new ServiceError('deadline_exceeded', { cause: error }));
      if (error?.code !== NO_REPLY) return resolve(null);
      resolve({ status: /unreachable|prohibited|filtered/i.test(stdout) ? 'unreachable' : 'timeout' });
    };
    try {
      execFile(
        program,
        ['-n', '-c', '1', '-W', String(timeoutMs / 1000), '--', address],
        { signal, killSignal: 'SIGKILL', timeout: timeoutMs + GRACE_MS, env: { LC_ALL: 'C' } },
        onExit,
      );
    } catch {
      // Node throws when the kernel refuses to run the program, such as one with a capability that a container drops.
      resolve(null);
    }
    return promise;
  };
}
