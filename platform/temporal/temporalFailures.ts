import { ensureTemporalFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';

/** Makes activities throw only errors of Temporal. Other errors become an `ApplicationFailure`, which Temporal retries. */
export const throwTemporalFailures: ActivityInterceptorsFactory = () => ({
  inbound: {
    async execute(input, next) {
      try {
        return await next(input);
      } catch (error) {
        throw ensureTemporalFailure(error);
      }
    },
  },
});
