import { type ExecFileException, execFile } from 'node:child_process';
import { ServiceError } from '../schemas/errors.ts';

interface ProbeLimits {
  /** The program's own wait for a reply. */
  timeoutMs: number;
  signal: AbortSignal;
}

/** The output and exit code of a program; the code is null if it did not run. */
export interface ProbeOutput {
  stdout: string;
  code: number | null;
}

/** Time for the program to start and exit, beyond its wait, in milliseconds. A busy machine starts programs slowly. */
const GRACE_MS = 5000;

const exitCode = (error: ExecFileException | null): number | null => {
  if (error === null) return 0;
  return typeof error.code === 'number' ? error.code : null;
};

/**
 * Runs a program that times one probe, in a process of its own: this process may be busy when the reply arrives.
 *
 * @param program name or path; a name is looked up in /usr/bin and /bin only
 * @throws ServiceError `deadline_exceeded` when it does not exit by itself; the signal's reason
 */
export function runProbe(
  program: string,
  words: readonly string[],
  { timeoutMs, signal }: ProbeLimits,
): Promise<ProbeOutput> {
  const { promise, resolve, reject } = Promise.withResolvers<ProbeOutput>();
  const onExit = (error: ExecFileException | null, stdout: string) => {
    if (signal.aborted) return reject(signal.reason);
    // Killed because it started or exited too slowly, which says nothing about the target.
    if (error?.killed) return reject(new ServiceError('deadline_exceeded', { cause: error }));
    resolve({ stdout, code: exitCode(error) });
  };
  try {
    execFile(
      program,
      [...words],
      { signal, killSignal: 'SIGKILL', timeout: timeoutMs + GRACE_MS, env: { LC_ALL: 'C' } },
      onExit,
    );
  } catch {
    // Node throws when the kernel refuses to run the program, such as one with a capability that a container drops.
    resolve({ stdout: '', code: null });
  }
  return promise;
}
