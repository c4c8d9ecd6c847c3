import type Router from '@koa/router';
import { keepLinked } from '../../store/files/links.ts';
import type { Connections } from '../../store/keys/connections.ts';
import { createAuthenticate } from '../auth/authenticate.ts';
import type { OauthServer } from '../auth/oauthServer.ts';
import type { BatchesArea } from '../batches/area.ts';
import type { Outages } from '../calls/outages.ts';
import type { ToolCallService } from '../calls/run.ts';
import type { ApiCore } from '../core.ts';
import type { FilesArea } from '../files/area.ts';
import type { State } from '../http/context.ts';
import type { UploadLimit } from '../http/uploadLimit.ts';
import type { JobArea } from '../jobs/area.ts';
import type { PaidCalls } from '../topUps/paidCalls.ts';
import type { Transport } from '../topUps/topUpService.ts';
import { mcpRoutes } from './mcpRoutes.ts';
import { createMcpServers } from './mcpServer.ts';
import { createTaskService } from './taskService.ts';

interface Services
  extends Pick<FilesArea, 'linkFile'>,
    Pick<JobArea, 'jobService' | 'storage'>,
    Pick<BatchesArea, 'batchService' | 'rowOutputs'> {
  oauth: OauthServer;
  connections: Connections;
  toolCallService: ToolCallService;
  paidCallsOver(transport: Transport): PaidCalls;
  outages: Outages;
  uploads: UploadLimit;
}

/** Creates the endpoint of the Model Context Protocol. */
export const createMcpArea = (core: ApiCore, services: Services) => ({
  routes(router: Router<State>) {
    const { env, log, store, registry, accounts, apiKeys, lists, limits } = core;
    const { oauth, connections, toolCallService, paidCallsOver, outages, uploads, linkFile } = services;
    const { jobService, storage, batchService, rowOutputs } = services;
    const tasks = createTaskService({
      registry,
      jobs: jobService,
      batches: batchService,
      outputs: rowOutputs,
      linkFile,
      keepFile: (accountId, file) =>
        keepLinked(store, file, async (bytes) => {
          await storage.add(accountId, bytes);
          return true;
        }),
      outages,
      rateLimit: limits.rateLimit,
      log,
    });
    mcpRoutes(router, {
      registry,
      outages,
      uploads,
      publicUrl: env.PUBLIC_URL,
      oauth,
      authenticate: createAuthenticate({
        onFailure: limits.onFailure,
        attention: core.attention,
        // Only this endpoint accepts access tokens; they have another form than keys.
        apiKeys: {
          ...apiKeys,
          async authenticate(token, onDead) {
            const found = await apiKeys.authenticate(token, onDead);
            if (found !== null) return found;
            const key = await connections.authenticate(token);
            return key && { key, account: await accounts.find(key.accountId) };
          },
        },
      }),
      createServer: createMcpServers({
        registry,
        lists,
        toolCallService,
        paidCalls: paidCallsOver('mcp'),
        linkFile,
        tasks,
        outages,
        rateLimit: limits.rateLimit,
        attention: core.attention,
        log,
      }),
      onError: (error) => log.debug({ err: error }, 'MCP request refused'),
    });
  },
});
