import { fileURLToPath } from 'node:url';
import type { EchoOptions } from './icmp.ts';
import { runProbe } from './probeProgram.ts';
import type { Vetted } from './vet.ts';

/** Measures one TCP handshake, in milliseconds. Resolves to null when Perl is missing or cannot measure on this machine. */
export type Handshake = (
  vetted: Vetted,
  options: EchoOptions,
) => Promise<{ status: 'ok' | 'refused'; ms: number } | { status: 'timeout' | 'unreachable' } | null>;

const SCRIPT = fileURLToPath(new URL('./handshake.pl', import.meta.url));

/** Measures each TCP handshake with a process of `handshake.pl`. @param program path or name of the Perl interpreter */
export function createHandshake(program: string): Handshake {
  return async ({ target, addresses }, { address, timeoutMs, signal }) => {
    if (!addresses.includes(address)) throw new RangeError('not a vetted address');
    const words = [SCRIPT, address, `${target.port}`, `${timeoutMs}`];
    const { stdout, code } = await runProbe(program, words, { timeoutMs, signal });
    if (code !== 0) return null;
    const [status, time] = stdout.trim().split(' ');
    const ms = Number(time);
    if (status === 'ok' || status === 'refused')
      return ms <= timeoutMs ? { status, ms } : { status: 'timeout' };
    return status === 'timeout' || status === 'unreachable' ? { status } : null;
  };
}
