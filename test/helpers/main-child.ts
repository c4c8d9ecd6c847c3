import { once } from 'node:events';
import { runMain } from '../../platform/runMain.ts';
import { stopSignal } from '../../platform/stopSignal.ts';

/**
 * Runs a main function that leaves a timer running. Argument: `returns` to return at once, `stops` to return after a stop
 * signal, `hangs` never to return.
 */
const mode = process.argv[2];

await runMain(async () => {
  setInterval(() => undefined, 1_000);
  const stopping = stopSignal(500);
  process.send?.('ready');
  if (mode === 'returns') return;
  await once(stopping, 'abort');
  process.stdout.write('stopping\n');
  if (mode === 'hangs') await new Promise(() => undefined);
  process.stdout.write('stopped\n');
});
