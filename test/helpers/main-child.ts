import { pbkdf2 } from 'node:crypto';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { runMain } from '../../platform/runMain.ts';
import { stopSignal } from '../../platform/stopSignal.ts';

/**
 * Runs a main function that leaves a timer running. Argument: `returns` to return at once, `stops` to return after a stop
 * signal, `hangs` never to return, `computes` never to return while a thread computes for minutes. `loads` waits until the
 * parent has exited before it listens for signals, like a process that still loads its modules, and returns after a stop signal.
 */
const mode = process.argv[2];

await runMain(async () => {
  setInterval(() => undefined, 1_000);
  const ready = () => process.send?.('ready');
  if (mode === 'loads') {
    ready();
    while (process.connected) await nextTurn();
  }
  const stopping = stopSignal(500);
  if (mode !== 'loads') ready();
  if (mode === 'returns') return;
  if (mode === 'computes') pbkdf2('', '', 2 ** 31 - 1, 64, 'sha512', () => undefined);
  if (!stopping.aborted) await once(stopping, 'abort');
  process.stdout.write('stopping\n');
  if (mode === 'hangs' || mode === 'computes') await new Promise(() => undefined);
  process.stdout.write('stopped\n');
});
