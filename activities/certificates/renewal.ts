const DAY_MS = 86_400_000;
/** Lifetimes below this many days count as short. Let's Encrypt and Certbot use the same limit. */
const SHORT_DAYS = 10;

/**
 * Returns how much of a certificate's lifetime is left, and whether it is time for a new one: Let's Encrypt recommends to
 * renew a certificate when a third of its lifetime remains, and when half does if the lifetime is short.
 *
 * @param now epoch milliseconds
 */
export function renewal(
  from: Date,
  to: Date,
  now: number,
): { daysRemaining: number; lifetimeDays: number; renewalDue: boolean } {
  const left = to.getTime() - now;
  // The last second belongs to the validity (RFC 5280 section 4.1.2.5).
  const lifetime = to.getTime() + 1000 - from.getTime();
  const share = lifetime < SHORT_DAYS * DAY_MS ? 1 / 2 : 1 / 3;
  return {
    daysRemaining: Math.floor(left / DAY_MS),
    lifetimeDays: Math.floor(lifetime / DAY_MS),
    renewalDue: left < lifetime * share,
  };
}
