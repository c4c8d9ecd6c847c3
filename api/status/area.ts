import type Router from '@koa/router';
import { createIncidents } from '../../store/status/incidents.ts';
import { recordMinute } from '../../store/status/statusDays.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import type { InternalPort } from '../internalPort.ts';
import { startMonitor } from './monitor.ts';
import { createReadStatus } from './readStatus.ts';
import { samplePools } from './samplePools.ts';
import { isAnswering, statesOf } from './statusChecks.ts';
import { statusRoutes } from './statusRoutes.ts';

/** Creates the status page and what it records every minute. */
export function createStatusArea(
  { log, registry, store, client, open, onError, publicUrl }: ApiCore,
  { readiness, queues }: Pick<InternalPort, 'readiness' | 'queues'>,
) {
  const incidents = createIncidents(store);
  const readStatus = createReadStatus({
    store,
    incidents,
    readiness,
    onError: (error) => log.warn({ err: error }, 'could not read the history of the status page'),
  });
  return {
    incidents,
    routes: (router: Router<State>) => statusRoutes(router, { registry, baseUrl: publicUrl, readStatus }),
    /** Starts the checks. @param baseUrl where the API listens */
    start(baseUrl: string) {
      const monitor = startMonitor({
        async check() {
          const [ready, isUp] = await Promise.all([readiness(), isAnswering(baseUrl)]);
          return { ...statesOf(ready), api: isUp ? 'ok' : 'failed' };
        },
        async record(minute, states) {
          if (!(await recordMinute(store, minute, states))) return;
          await incidents.advance(minute, states);
          // Samples are not repeated, because they would show the state of a later minute.
          if (states.temporal === 'ok') await samplePools({ store, client, queues }, minute).catch(onError);
        },
        log,
      });
      open.adopt(monitor, (it) => it.stop());
    },
  };
}
