/** Balance below which `credits.low` fires. */
export const LOW_CREDITS = 25;

export const EVENT_KINDS = [
  'credits.low',
  'credits.exhausted',
  'credits.granted',
  'api_key.created',
  'api_key.revoked',
  'webhook.test',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** `data` of the two events that a charge can fire, from the balance it left. */
export function balanceEventData(event: EventKind, balance: number): Record<string, unknown> {
  return event === 'credits.low'
    ? { balance, threshold: LOW_CREDITS, message: `Only ${balance} credits are left.` }
    : { balance, message: 'No credits are left; calls are refused until credits are added.' };
}
