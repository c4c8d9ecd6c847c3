import { proxyActivities } from '@temporalio/workflow';

const { noop } = proxyActivities<{ noop(): Promise<string> }>({ startToCloseTimeout: '10s' });

/** The least that Temporal can do for a call: one workflow, one activity. */
export const bare = (): Promise<string> => noop();
