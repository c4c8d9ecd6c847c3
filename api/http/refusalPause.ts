import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Milliseconds before a client address above a limit on requests without a valid key gets its refusal. A connection has one request
 * in work at a time, so that the refusals of a client that does not wait cost one core a few percent, not all of it.
 */
const PAUSE_MS = 1000;

export const pauseRefusal = (): Promise<void> => sleep(PAUSE_MS, undefined, { ref: false });
