import { spawn } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { tethered } from '../tether.ts';

export interface RunOptions {
  env: NodeJS.ProcessEnv;
  cwd?: string;
  /** Ended when it shows no progress for so many milliseconds: no output, no growth of `folder`. */
  idleMs: number;
  totalMs: number;
  /** Once it has printed its first line, this takes the place of `idleMs`. */
  busyMs?: number;
  /** Where it writes what it downloads. */
  folder?: string;
  signal?: AbortSignal | undefined;
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/**
 * Runs a program to its end and resolves with what it printed on stdout.
 *
 * @throws when it fails (with the last line it printed), stands still or takes too long; it and its children are
 *   dead then
 */
export function run(file: string, args: string[], options: RunOptions): Promise<string> {
  const { env, cwd, idleMs, totalMs, busyMs = idleMs, folder, signal } = options;
  return new Promise((resolve, reject) => {
    const command = tethered(file, args);
    const stdio = command.ipc
      ? (['ignore', 'pipe', 'pipe', 'ipc'] as const)
      : (['ignore', 'pipe', 'pipe'] as const);
    const child = spawn(command.file, command.args, { env, cwd, stdio: [...stdio], detached: true });
    let output = '';
    let lastLine = '';
    let lastSize = 0;
    let patience = idleMs;
    let lastProgress = Date.now();
    const started = lastProgress;
    let verdict: unknown;

    const end = (reason: unknown) => {
      verdict ??= reason;
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
      process.kill(-child.pid, 'SIGKILL');
    };
    const watch = setInterval(async () => {
      const size = folder === undefined ? 0 : await sizeOf(folder);
      const now = Date.now();
      if (size !== lastSize) lastProgress = now;
      lastSize = size;
      if (now - lastProgress > patience) end(new Error(`no progress for ${patience / 1000} s`));
      if (now - started > totalMs) end(new Error(`not done after ${totalMs / 60_000} min`));
    }, 500);
    const onAbort = () => end(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });

    const onLine = (line: string) => {
      lastProgress = Date.now();
      patience = busyMs;
      if (line.trim() !== '') lastLine = line;
    };
    child.stdout?.on('data', (chunk) => {
      output += String(chunk);
    });
    for (const stream of [child.stdout, child.stderr])
      if (stream !== null) createInterface({ input: stream }).on('line', onLine);
    const settle = (failure: unknown) => {
      clearInterval(watch);
      signal?.removeEventListener('abort', onAbort);
      if (failure === undefined) resolve(output);
      else reject(failure);
    };
    child.once('error', settle);
    child.once('close', (code, killed) => {
      const failure = code === 0 ? undefined : new Error(lastLine || `${file} ended with ${killed ?? code}`);
      settle(verdict ?? failure);
    });
    if (signal?.aborted) onAbort();
  });
}
