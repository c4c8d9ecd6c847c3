import { setTimeout as sleep } from 'node:timers/promises';

/** What a decoder process does when a hostile file controls it; a signal name makes it kill itself with that signal. */
export type Deed =
  | 'answer'
  | 'pid'
  | 'env'
  | 'heap'
  | 'buffers'
  | 'spin'
  | 'wait'
  | 'exit'
  | 'reject'
  | 'stall'
  | NodeJS.Signals;

const BLOCK_BYTES = 16 * 2 ** 20;

/** A decoder job that simulates a hostile file, for tests of the decoder processes. */
export default async function hostile(deed: Deed): Promise<unknown> {
  // The command line shows a test which processes have begun.
  process.title = deed;
  const kept: unknown[] = [];
  switch (deed) {
    case 'answer':
      return 'fine';
    case 'pid':
      return process.pid;
    case 'env':
      return process.env;
    case 'heap':
      for (;;) kept.push({ kept: kept.length });
    case 'buffers':
      for (;;) kept.push(Buffer.alloc(BLOCK_BYTES, 1));
    case 'spin':
      for (;;) kept.length = 0;
    case 'wait':
      return sleep(3_600_000);
    case 'exit':
      return process.exit(3);
    case 'reject':
      Promise.reject(new Error('left unhandled'));
      await sleep(50);
      return process.pid;
    case 'stall':
      return Promise.withResolvers().promise;
    default:
      process.kill(process.pid, deed);
      return sleep(3_600_000);
  }
}
