import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../../../schemas/errors.ts';
import type { CallDoc } from '../../../../store/calls/callDocs.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { goTo } from '../../frame/pageRouter.ts';
import { CALLS_PATH, callPath, RUNS_PATH } from './callView.ts';

/** How long the page of a cancelled call waits for its end, and how often it looks. */
const END_MS = 3000;
const END_INTERVAL_MS = 300;

/** Registers the operations on running calls: their progress, which `run.js` shows, and their cancellation. */
export function runRoutes({ pages, core: { lists }, toolCallService }: Dashboard): void {
  async function untilEnded(accountId: string, callId: string): Promise<void> {
    const deadline = Date.now() + END_MS;
    let call: CallDoc | null;
    do {
      await sleep(END_INTERVAL_MS);
      call = await lists.call(accountId, callId);
    } while (call?.state === 'running' && Date.now() < deadline);
  }

  pages.get(`${RUNS_PATH}/:id`, async ({ ctx, viewer, id }) => {
    const call = await lists.runOf(viewer.account._id, id);
    ctx.body = {
      run: call && { cancel: `${callPath(call._id)}/cancel`, step: await toolCallService.step(call._id) },
    };
  });

  pages.post(
    `${CALLS_PATH}/:id/cancel`,
    async ({ ctx, viewer, id }) => {
      const accountId = viewer.account._id;
      const call = await lists.call(accountId, id);
      if (call === null) throw new ServiceError('not_found');
      const isRequested = call.state !== 'running' || (await toolCallService.cancel(call._id));
      if (isRequested) await untilEnded(accountId, call._id);
      goTo(ctx, `${callPath(call._id)}?cancel=${isRequested ? 'sent' : 'failed'}`);
    },
    { page: callPath },
  );
}
