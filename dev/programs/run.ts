import { spawn } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { tethered } from '../tether.ts';

export interface RunOptions {
  env: NodeJS.ProcessEnv;
  cwd?: string;
  /** Milliseconds without progress (output of the program, or growth of `folder`) after which the program is killed. */
  idleMs: number;
  /** Milliseconds after its start at which the program is killed. */
  totalMs: number;
  /** Replaces `idleMs` after the program's first line of output. Default: `idleMs`. */
  busyMs?: number;
  /** Folder into which the program downloads. Its growth counts as progress. */
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
 * Runs a program to its end and resolves with its standard output.
 *
 * @throws when the program fails (with its last line of output), makes no progress or takes too long; its process group
 *   has then been killed
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
    let limitMs = idleMs;
    let lastProgress = Date.now();
    const started = lastProgress;
    let killReason: unknown;

    const end = (reason: unknown) => {
      killReason ??= reason;
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
      process.kill(-child.pid, 'SIGKILL');
    };
    const watch = setInterval(async () => {
      const size = folder === undefined ? 0 : await sizeOf(folder);
      const now = Date.now();
      if (size !== lastSize) lastProgress = now;
      lastSize = size;
      if (now - lastProgress > limitMs) end(new Error(`no progress for ${limitMs / 1000} s`));
      if (now - started > totalMs) end(new Error(`not finished after ${totalMs / 60_000} min`));
    }, 500);
    const onAbort = () => end(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });

    const onLine = (line: string) => {
      lastProgress = Date.now();
      limitMs = busyMs;
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
      settle(killReason ?? failure);
    });
    if (signal?.aborted) onAbort();
  });
}
