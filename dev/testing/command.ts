import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { tethered } from '../tether.ts';

interface CommandOptions {
  env: NodeJS.ProcessEnv;
  /** Signal that kills the command and all its processes when it aborts. */
  signal: AbortSignal;
  /** Receives each line of the standard output, which is else copied to that of this process. */
  onLine?(line: string): void;
}

/** Runs a program until it exits. Resolves with whether it succeeded. */
export function command(
  file: string,
  args: string[],
  { env, signal, onLine }: CommandOptions,
): Promise<boolean> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const wrapped = tethered(file, args);
    const channel = wrapped.ipc ? (['ipc'] as const) : [];
    const stdio = ['ignore', onLine ? 'pipe' : 'inherit', 'inherit', ...channel] as const;
    const child = spawn(wrapped.file, wrapped.args, { env, stdio: [...stdio], detached: true });
    const onAbort = () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL');
    signal.addEventListener('abort', onAbort, { once: true });
    if (child.stdout && onLine) createInterface({ input: child.stdout }).on('line', onLine);
    child.once('error', reject);
    child.once('close', (code) => {
      signal.removeEventListener('abort', onAbort);
      resolve(code === 0);
    });
  });
}
