import { createDecoders } from '../../activities/decoders/pool.ts';
import type hostile from './jobs/hostile.ts';

/**
 * A separate process, which the test kills while a decoder process works for it. Prints the pid of that decoder
 * process, and then keeps the decoder process busy.
 */
const { offload } = createDecoders({ memoryBytes: 2 ** 28, log: () => undefined });
const options = { signal: new AbortController().signal, deadline: Date.now() + 600_000 };
const pid = await offload<typeof hostile>('../../test/helpers/jobs/hostile', 'pid', options);
process.stdout.write(`${pid}\n`);
await offload<typeof hostile>('../../test/helpers/jobs/hostile', 'spin', options);
