import { EnvError } from '../../schemas/env.ts';

/** Runs a process's main: a bad variable is one line and status 2, anything else ends it as usual. */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof EnvError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  } finally {
    // The channel to whoever started us would keep the process alive.
    if (process.connected) process.disconnect();
  }
}
