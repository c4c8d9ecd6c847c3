import { proxyActivities } from '@temporalio/workflow';

const { noop } = proxyActivities<{ noop(): Promise<string> }>({ startToCloseTimeout: '10s' });

/** The minimal workflow: one activity. The lower bound for the cost of a call. */
export const bare = (): Promise<string> => noop();
