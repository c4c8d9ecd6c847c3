import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { machineEnv } from './host.mjs';

let hasPdeathsig: boolean | undefined;

/** Whether util-linux's setpriv can set PR_SET_PDEATHSIG, with which Linux kills a program when its parent dies. */
function canSetPdeathsig(): boolean {
  hasPdeathsig ??=
    spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true'], { env: machineEnv(), timeout: 5_000 }).status === 0;
  return hasPdeathsig;
}

/** A command line, and whether it must be spawned with an IPC channel. */
export interface Tethered {
  file: string;
  args: string[];
  ipc: boolean;
}

/**
 * Wraps the command of a third-party program so that the program ends with this process, even after SIGKILL. Uses
 * PR_SET_PDEATHSIG, or on other systems an intermediate process (the script below) that watches its IPC channel.
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
  // A stop signal goes to the whole process group, so the program receives it too. This process ends after the program.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => undefined);
}
