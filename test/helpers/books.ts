/** Former names of the ledger checks, for test files that still use them. */
export { accountOf, auditWhenIdle as closeBooks, callsOf, untilHeld } from './ledgerCheck.ts';
export { until } from './until.ts';
