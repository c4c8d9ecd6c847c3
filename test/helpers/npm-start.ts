import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DemoFile } from '../../dev/demo-file.ts';
import { machineEnv } from '../../dev/host.mjs';
import { processesWith, remaining } from './processes.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const READY_MS = 120_000;
/** Longer than any graceful shutdown takes, and much shorter than a leaked process would live. */
export const STOPPED_MS = 30_000;

export interface Exit {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Creates a data folder. After the test, kills the processes that still use it and removes it. */
export async function stackFolder(t: { teardown(fn: () => Promise<void>): void }): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'stack-test-'));
  t.teardown(async () => {
    for (const line of processesWith(path)) process.kill(Number.parseInt(line, 10), 'SIGKILL');
    await remaining(path, STOPPED_MS);
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
  });
  return path;
}

/** Runs `npm start` as a user does, with no environment variables other than those the test sets. */
export function npmStart(env: Record<string, string>) {
  const cache = process.env.XDG_CACHE_HOME;
  const child = spawn('npm', ['start'], {
    cwd: root,
    env: { ...machineEnv(), ...(cache && { XDG_CACHE_HOME: cache }), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit: Exit = { code: null, stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    exit.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    // Removes the messages of npm itself from the output.
    exit.stderr += String(chunk).replace(/^npm (?:warn|error|notice).*\n?/gm, '');
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code) => resolve({ ...exit, code }));
  });
  const ready = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not ready:\n${exit.stdout}${exit.stderr}`)), READY_MS);
    exited.then(() => {
      clearTimeout(timer);
      reject(new Error(`npm start ended:\n${exit.stdout}${exit.stderr}`));
    });
    child.stdout.on('data', () => {
      if (!/^ready: http/m.test(exit.stdout)) return;
      clearTimeout(timer);
      resolve();
    });
  });
  // Prevents an unhandled rejection in tests that do not await `ready`.
  ready.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    exited,
    output: () => exit.stdout,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    async ready(): Promise<DemoFile> {
      await ready;
      return JSON.parse(await readFile(join(env.DATA_DIR ?? '', 'demo.json'), 'utf8'));
    },
  };
}
