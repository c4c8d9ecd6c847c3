import type Koa from 'koa';
import { createAccountArea } from './account/area.ts';
import { createAuthArea } from './auth/area.ts';
import { createBatchesArea } from './batches/area.ts';
import { createBillingArea } from './billing/area.ts';
import { createCallsArea } from './calls/area.ts';
import type { ApiCore } from './core.ts';
import { createDashboardArea } from './dashboard/area.ts';
import { createFilesArea } from './files/area.ts';
import { createApplication } from './http/application.ts';
import { createCodecArea } from './http/codecRoutes.ts';
import type { State } from './http/context.ts';
import type { InternalPort } from './internalPort.ts';
import { createJobsArea } from './jobs/area.ts';
import { createMailArea } from './mail/area.ts';
import { createMcpArea } from './mcp/area.ts';
import { createOpenapiArea } from './openapi/area.ts';
import { createReceiptsArea } from './receipts/area.ts';
import { createSchedulesArea } from './schedules/area.ts';
import { createSiteArea } from './site/area.ts';
import { createStatusArea } from './status/area.ts';
import { createTrialArea } from './trial/area.ts';
import { createWebhooksArea } from './webhooks/area.ts';

interface App {
  /** Answers the requests; it does not listen on a port. */
  koa: Koa<State>;
  /** Starts what runs beside the requests. @param baseUrl where the API listens */
  start(baseUrl: string): void;
}

/** Makes the areas of the API, each from the core and from the services of others. */
export async function createApp(core: ApiCore, internal: InternalPort): Promise<App> {
  const mail = createMailArea(core);
  const webhooks = createWebhooksArea(core);
  const billing = await createBillingArea(core);
  const files = createFilesArea(core);
  const calls = await createCallsArea(core, { ...internal, ...billing, ...files });
  const auth = createAuthArea(core, mail);
  const account = createAccountArea(core, { ...auth, ...webhooks, ...calls, ...files });
  const jobs = createJobsArea(core, { ...calls, ...auth, ...files });
  const batches = createBatchesArea(core, { ...calls, ...jobs, ...files });
  const schedules = createSchedulesArea(core, { ...calls, ...jobs, ...files });
  const status = createStatusArea(core, internal);
  const koa = createApplication(core, [
    createOpenapiArea(core, internal),
    createSiteArea(core, billing),
    status,
    createTrialArea(core, { ...internal, ...calls }),
    // Before the calls, because it takes tool calls that prefer an asynchronous response.
    jobs,
    batches,
    files,
    schedules,
    calls,
    createMcpArea(core, { ...internal, ...calls, ...auth, ...files, ...jobs, ...batches }),
    account,
    createReceiptsArea(core, auth),
    auth,
    createDashboardArea(core, {
      ...internal,
      ...mail,
      ...webhooks,
      ...calls,
      ...auth,
      ...account,
      ...billing,
      ...jobs,
      ...batches,
      ...schedules,
      ...status,
    }),
    billing,
    createCodecArea(core, auth),
  ]);
  return {
    koa,
    start(baseUrl) {
      status.start(baseUrl);
      mail.start();
      billing.start();
    },
  };
}
