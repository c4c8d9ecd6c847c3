import { EnvError } from '../../schemas/env.ts';

/** Runs the main function of a process. If an environment variable is invalid, prints one line and sets exit status 2. */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof EnvError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  } finally {
    // The IPC channel to the parent would keep the process alive.
    if (process.connected) process.disconnect();
  }
}
