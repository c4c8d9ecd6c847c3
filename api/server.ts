import { once } from 'node:events';
import { openCore } from '../platform/core.ts';
import { reportReady } from '../platform/reportReady.ts';
import { runMain } from '../platform/runMain.ts';
import { createApp } from './app.ts';
import { createApiCore } from './core.ts';
import { listenPublicly } from './http/publicServer.ts';
import { openInternalPort } from './internalPort.ts';

/**
 * Runs the API process: connects to MongoDB and Temporal, listens, and reports readiness to the parent process. On a
 * signal it stops accepting requests, finishes the running ones and exits.
 */
async function main(): Promise<void> {
  await using opened = await openCore('api');
  const core = await createApiCore(opened);
  const internal = await openInternalPort(core);
  const app = await createApp(core, internal);
  const baseUrl = await listenPublicly(core, app.koa.callback());
  app.start(baseUrl);
  const { internalUrl } = internal;
  core.log.info({ baseUrl, internalUrl }, 'listening');
  reportReady({ baseUrl, internalUrl });
  if (!core.stopping.aborted) await once(core.stopping, 'abort');
  core.log.info('draining');
}

await runMain(main);
