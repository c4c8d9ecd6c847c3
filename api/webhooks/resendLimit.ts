import type { RateLimit } from '../../schemas/envValues.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { createCounter, secondsLeft } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { countToResend, type Resend } from '../../store/webhooks/deliveries.ts';

/**
 * Maximum number of deliveries that one account, and all accounts together, can resend or send as tests in 24 hours,
 * because each leaves attempts and a part of a workflow history. Deliveries of new events are not counted: the limit of
 * changes bounds them.
 */
export const RESENDS_PER_DAY = { account: 2000, installation: 200_000 } as const;
const DAY_SECONDS = 86_400;
const INSTALLATION = 'all';

export interface ResendLimit {
  /** Counts deliveries. @returns how many are permitted @throws ServiceError rate_limited if none is */
  take(accountId: string, wanted: number): Promise<number>;
  /** Counts a test. @throws ServiceError rate_limited above the limit */
  takeTest(accountId: string): Promise<void>;
  /**
   * Counts the deliveries of an endpoint that are about to be resent.
   *
   * @returns how many of them are permitted; at least one unless the selection is empty
   * @throws ServiceError rate_limited if none is permitted
   */
  takeResends(accountId: string, endpointId: string, selection: Resend): Promise<number>;
  /** Gives back those of the permitted deliveries that were not queued. */
  giveBack(accountId: string, deliveries: number): Promise<void>;
}

/** Creates the limit, which all API processes share. @param limit null disables it */
export function createResendLimit(store: Store, limit: RateLimit | null): ResendLimit {
  const count = (endpointId: string, selection: Resend) => countToResend(store, endpointId, selection);
  if (limit === null)
    return {
      take: async (_accountId, wanted) => wanted,
      takeTest: async () => undefined,
      takeResends: (_accountId, endpointId, selection) => count(endpointId, selection),
      giveBack: async () => undefined,
    };
  const { account, installation } = RESENDS_PER_DAY;
  const byAccount = createCounter(store, { name: 'resend', max: account, seconds: DAY_SECONDS });
  const byInstallation = createCounter(store, { name: 'resend-of', max: installation, seconds: DAY_SECONDS });

  async function giveBack(accountId: string, deliveries: number): Promise<void> {
    if (deliveries === 0) return;
    await Promise.all([
      byAccount.reward(accountId, deliveries),
      byInstallation.reward(INSTALLATION, deliveries),
    ]);
  }

  async function take(accountId: string, wanted: number): Promise<number> {
    if (wanted === 0) return 0;
    const [own, all] = await Promise.all([
      byAccount.penalty(accountId, wanted),
      byInstallation.penalty(INSTALLATION, wanted),
    ]);
    const isOwn = own.consumedPoints - account >= all.consumedPoints - installation;
    const above = isOwn ? own.consumedPoints - account : all.consumedPoints - installation;
    const refused = Math.min(wanted, Math.max(0, above));
    await giveBack(accountId, refused);
    if (refused < wanted) return wanted - refused;
    const [whose, most] = isOwn ? ['An account', account] : ['All accounts together', installation];
    throw new ServiceError('rate_limited', {
      detail: `${whose} can resend and test ${most} deliveries in 24 hours.`,
      retryAfter: secondsLeft(isOwn ? own : all),
    });
  }

  return {
    take,
    giveBack,
    async takeTest(accountId) {
      await take(accountId, 1);
    },
    takeResends: async (accountId, endpointId, selection) =>
      take(accountId, await count(endpointId, selection)),
  };
}
