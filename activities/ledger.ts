import type { Ledger } from '../store/ledger.ts';
import type { LedgerActivities } from '../workflows/types.ts';

/** The money steps, as local activities of the orchestrator. */
export const createLedgerActivities = (ledger: Ledger): LedgerActivities => ({
  reserve: (call) => ledger.reserve(call),
  settle: (settlement) => ledger.settle(settlement),
});
