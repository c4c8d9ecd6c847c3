import { AsyncLocalStorage } from 'node:async_hooks';
import { APIError, createAuthEndpoint } from 'better-auth/api';
import { deviceAuthorization, redeemDeviceCode } from 'better-auth/plugins/device-authorization';

/** The page on which the owner approves a sign-in of the command line. */
export const DEVICE_PATH = '/dashboard/device';
/** The only client: the command `utility-tools`. */
export const DEVICE_CLIENT = 'utility-tools';
/** Path of better-auth that redeems a code; not public. */
export const REDEEM_PATH = 'device/redeem';
/** Validity of a code, and the least interval between two requests for its key. */
const VALID = '10m';
const INTERVAL = '2s';

const hashes = new AsyncLocalStorage<string>();

/** Runs a request to better-auth about the device code with this hash. better-auth knows and stores only the hash. */
export const withCodeHash = <T>(hash: string, request: () => Promise<T>): Promise<T> =>
  hashes.run(hash, request);

function currentHash(): string {
  const hash = hashes.getStore();
  if (hash === undefined) throw new Error('the request is not about a device code');
  return hash;
}

/**
 * Creates better-auth's device authorization (RFC 8628), and an endpoint that redeems an approved code without a session:
 * the command gets an API key instead.
 */
export const devicePlugins = () => [
  deviceAuthorization({
    expiresIn: VALID,
    interval: INTERVAL,
    verificationUri: DEVICE_PATH,
    validateClient: (clientId) => clientId === DEVICE_CLIENT,
    generateDeviceCode: currentHash,
    schema: { deviceCode: { modelName: 'deviceCodes' } },
  }),
  {
    id: 'device-redemption',
    endpoints: {
      redeemDevice: createAuthEndpoint(`/${REDEEM_PATH}`, { method: 'POST' }, async (ctx) => {
        const { user } = await redeemDeviceCode({
          ctx,
          deviceCode: currentHash(),
          authorizeRedemption: () => ({
            ownershipWhere: { field: 'clientId', value: DEVICE_CLIENT },
            context: null,
          }),
          // better-auth responds with 500 when the owner has closed the account since.
          async prepareRedemption({ userId }) {
            const where = [{ field: 'id', value: userId ?? '' }];
            if ((await ctx.context.adapter.findOne({ model: 'user', where })) === null)
              throw new APIError('BAD_REQUEST', {
                error: 'access_denied',
                error_description: 'The account that approved the sign-in was closed.',
              });
            return null;
          },
        });
        return ctx.json({ userId: user.id });
      }),
    },
  },
];
