import { EnvError } from '../schemas/env.ts';
import { StoppedError } from './stopSignal.ts';

/**
 * Runs the main function of a process, and ends the process when it has returned. If an environment variable is invalid,
 * prints one line and sets exit status 2.
 *
 * @param main must close everything that it opens, because nothing is awaited after it has returned
 */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (error instanceof EnvError) {
      process.stderr.write(`${error.message}\n`);
      process.exitCode = 2;
    } else if (!(error instanceof StoppedError)) throw error;
  }
  // The process would not always end by itself: the runtime of Temporal's SDK leaves an open handle when it shuts down
  // after its server has died (seen in about 1 of 10 such shutdowns with version 1.24).
  process.exit();
}
