import { heartbeat, log } from '@temporalio/activity';
import { sumExpiring } from '../../store/calls/expiringCalls.ts';
import type { Audit } from '../../store/ledger/audit.ts';
import { recordAudit, recordFailedAudit } from '../../store/mongo/maintenance.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { deleteOldAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import type { AuditActivities } from '../../workflows/types.ts';

/** Interval of heartbeats in milliseconds, well below the heartbeat timeout that the workflow sets. */
const HEARTBEAT_MS = 10_000;
/** Maximum number of differences that one audit logs; `npm run audit` shows all. */
const LOGGED = 20;

/** Creates the activity that audits the ledger. @param runAudit audits all accounts; its queries may take minutes */
export const createAuditActivities = (store: Store, runAudit: () => Promise<Audit>): AuditActivities => ({
  async auditLedger() {
    const beat = setInterval(() => heartbeat(), HEARTBEAT_MS);
    try {
      const result = await runAudit();
      for (const drift of result.drift.slice(0, LOGGED))
        log.error('the ledger is inconsistent', { ...drift });
      await recordAudit(store, result);
      // A failure is only logged: the next run sums the same calls again.
      await sumExpiring(store).catch((error) => log.error('usage could not be summed', { err: error }));
      await deleteOldAttempts(store).catch((error) =>
        log.error('old webhook attempts could not be deleted', { err: error }),
      );
      return result.drift.length;
    } catch (error) {
      log.error('the audit failed', { err: error });
      await recordFailedAudit(store);
      throw error;
    } finally {
      clearInterval(beat);
    }
  },
});
