import { spawn } from 'node:child_process';

interface ShellOptions {
  cwd?: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Runs a program to its end. Its stderr is inherited.
 *
 * @returns its stdout
 * @throws when it fails or takes longer than `timeoutMs`; its process group is then killed
 */
export function shell(file: string, args: readonly string[], options: ShellOptions): Promise<string> {
  const { cwd, env, timeoutMs, signal } = options;
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
    const kill = () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL');
    let reason = '';
    const end = (message: string) => {
      reason = message;
      kill();
    };
    const timer = setTimeout(() => end(`not finished after ${timeoutMs / 1000} s`), timeoutMs);
    const onAbort = () => end('interrupted');
    signal?.addEventListener('abort', onAbort, { once: true });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += String(chunk);
    });
    child.once('error', reject);
    child.once('close', (code, killed) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      if (code === 0) resolve(output);
      else
        reject(
          new Error(`${file} ${args.join(' ')}: ${reason || `ended with ${killed ?? code}`}\n${output}`),
        );
    });
  });
}
