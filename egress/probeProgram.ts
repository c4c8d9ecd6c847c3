import { type ExecFileException, execFile } from 'node:child_process';
import { ServiceError } from '../schemas/errors.ts';

interface ProbeLimits {
  /** How long the program waits for a reply, in milliseconds. */
  timeoutMs: number;
  signal: AbortSignal;
}

/** The output and exit code of a program; the code is null if the program did not run. */
interface ProbeOutput {
  stdout: string;
  code: number | null;
}

/** Milliseconds that a program may take beyond `timeoutMs` to start and exit. A busy machine starts programs slowly. */
const GRACE_MS = 5000;

const exitCode = (error: ExecFileException | null): number | null => {
  if (error === null) return 0;
  return typeof error.code === 'number' ? error.code : null;
};

/**
 * Runs a program that measures the response time of a target (ping, `handshake.pl`). A separate process measures more
 * accurately, because this process may be busy when the reply arrives.
 *
 * @param program name or path; a name is looked up in /usr/bin and /bin only
 * @throws ServiceError `deadline_exceeded` when the program does not exit by itself in time; the signal's reason
 */
export function runProbe(
  program: string,
  words: readonly string[],
  { timeoutMs, signal }: ProbeLimits,
): Promise<ProbeOutput> {
  const { promise, resolve, reject } = Promise.withResolvers<ProbeOutput>();
  const onExit = (error: ExecFileException | null, stdout: string) => {
    if (signal.aborted) return reject(signal.reason);
    // The program was killed because it started or exited too slowly, which says nothing about the target.
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
