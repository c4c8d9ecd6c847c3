import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { ServiceError } from '../../../../../schemas/errors.ts';
import { EXPORT_LEASE_MS, type ExportLease, leaseExport } from '../../../../../store/accounts/exportLease.ts';
import { recordSecurity } from '../../../../../store/accounts/securityLog.ts';
import { actorOf } from '../../../../auth/actor.ts';
import type { Dashboard } from '../../../frame/dashboard.ts';
import { EXPORT_PATH } from '../paths.ts';

/** Ends the lease when the response ends, also if it was never started or the client disconnects. */
function releaseAfter(response: ServerResponse, lease: ExportLease): void {
  // If this fails, the lease expires.
  const release = () => void lease.release().catch(() => undefined);
  if (response.closed) release();
  else response.once('close', release);
}

/** Ends the lease before the last line has been sent, so that the client can start the next export at once. */
async function* thenRelease(lines: AsyncIterable<string>, lease: ExportLease): AsyncGenerator<string> {
  yield* lines;
  await lease.release();
}

/** Registers the download of all data of an account, which can run once at a time for each account. */
export function exportRoutes({ pages, core: { store }, exportAccount }: Dashboard): void {
  pages.get(EXPORT_PATH, async ({ ctx, viewer: { account, user } }) => {
    const lease = await leaseExport(store, account._id, () => ctx.res.destroy());
    if (lease === null)
      throw new ServiceError('rate_limited', {
        detail:
          'Another download of the data of this account is running. Wait until it has ended, then try again.',
        retryAfter: EXPORT_LEASE_MS / 1000,
      });
    releaseAfter(ctx.res, lease);
    await recordSecurity(store, { accountId: account._id, kind: 'data_exported', actor: actorOf(ctx) });
    ctx.attachment('account.ndjson');
    ctx.type = 'application/x-ndjson';
    ctx.body = Readable.from(thenRelease(exportAccount(account, user), lease));
  });
}
