import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { machineEnv } from './host.mjs';

let hasPdeathsig: boolean | undefined;

/** Linux: util-linux's setpriv sets PR_SET_PDEATHSIG, so that the kernel itself kills the program when we die. */
function canSetPdeathsig(): boolean {
  hasPdeathsig ??=
    spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true'], { env: machineEnv(), timeout: 5_000 }).status === 0;
  return hasPdeathsig;
}

/** A command line, and whether it needs an IPC channel to us. */
export interface Tethered {
  file: string;
  args: string[];
  ipc: boolean;
}

/**
 * Wraps the command of a program that does not know us, so that it never outlives us, even when we are killed
 * with -9. Where the kernel cannot see to that, a small process between us and it does.
 */
export function tethered(file: string, args: string[], pdeathsig: boolean = canSetPdeathsig()): Tethered {
  return pdeathsig
    ? { file: 'setpriv', args: ['--pdeathsig', 'KILL', file, ...args], ipc: false }
    : { file: process.execPath, args: [fileURLToPath(import.meta.url), file, ...args], ipc: true };
}

if (import.meta.main) {
  const [file = '', ...args] = process.argv.slice(2);
  const child = spawn(file, args, { stdio: 'inherit' });
  child.once('error', (error) => {
    console.error(error.message);
    process.exit(127);
  });
  child.once('exit', (code) => process.exit(code ?? 1));
  process.once('disconnect', () => child.kill('SIGKILL'));
  // Whoever stops this process signals its whole group, the program included; it ends when the program has.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => undefined);
}
