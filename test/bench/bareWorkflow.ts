import { proxyActivities } from '@temporalio/workflow';

const { noop } = proxyActivities<{ noop(): Promise<string> }>({ startToCloseTimeout: '10s' });

/** A minimal workflow with one activity. Its duration is the lower bound for the cost of a call. */
export const bare = (): Promise<string> => noop();
