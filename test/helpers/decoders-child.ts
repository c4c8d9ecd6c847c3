import { createDecoders } from '../../activities/decoders/pool.ts';
import type hostile from './jobs/hostile.ts';

/** Run as a process of its own, which is killed: prints the pid of a process of jobs, and keeps that one busy. */
const { offload } = createDecoders({ memoryBytes: 2 ** 28, log: () => undefined });
const options = { signal: new AbortController().signal, deadline: Date.now() + 600_000 };
const pid = await offload<typeof hostile>('../../test/helpers/jobs/hostile', 'pid', options);
process.stdout.write(`${pid}\n`);
await offload<typeof hostile>('../../test/helpers/jobs/hostile', 'spin', options);
