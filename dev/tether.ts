import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onParentExit } from '../platform/onParentExit.ts';
import { machineEnv } from './host.mjs';

let hasPdeathsig: boolean | undefined;

/** Whether setpriv of util-linux can set PR_SET_PDEATHSIG, which makes Linux kill a program when its parent dies. */
function canSetPdeathsig(): boolean {
  hasPdeathsig ??=
    spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true'], { env: machineEnv(), timeout: 5_000 }).status === 0;
  return hasPdeathsig;
}

/** The command line of a wrapped program, and whether it must be spawned with an IPC channel. */
export interface Tethered {
  file: string;
  args: string[];
  ipc: boolean;
}

/**
 * Wraps the command of a third-party program so that the program ends with this process, even if this process is killed
 * with SIGKILL. Uses PR_SET_PDEATHSIG or, on systems without it, an intermediate process (the script below) that
 * watches its IPC channel to this process.
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
  onParentExit(() => child.kill('SIGKILL'));
  // Stop signals are sent to the whole process group, so the program receives them too. This process ignores them and
  // exits after the program.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => undefined);
}
