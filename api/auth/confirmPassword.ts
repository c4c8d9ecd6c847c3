import type { Context } from '../http/context.ts';
import type { AttemptLimit } from './attemptLimit.ts';
import type { Auth, User } from './auth.ts';
import type { KnownDevices } from './knownDevice.ts';

/**
 * Whether a signed-in user has entered the current password, before a step that needs it. Wrong passwords count towards
 * the same limits as those at sign-in.
 *
 * @throws ServiceError rate_limited
 */
export type ConfirmPassword = (ctx: Context, user: User, password: string) => Promise<boolean>;

export const createConfirmPassword =
  (auth: Pick<Auth, 'hasPassword'>, limit: AttemptLimit, devices: KnownDevices): ConfirmPassword =>
  async (ctx, { id, email }, password) => {
    const attempt = { address: ctx.ip, email, device: devices.find(ctx, email) };
    await limit.countPasswordAttempt(attempt);
    const isRight = await auth.hasPassword(id, password);
    if (isRight) await limit.countCorrectPassword(attempt);
    return isRight;
  };
